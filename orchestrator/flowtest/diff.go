package flowtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// sides are the names of two values that should be equal.
type sides struct{ was, is string }

// mostLines is how many lines of differences a report shows.
const mostLines = 20

// diffJSON names every place where two JSON values differ, one a line; "": nowhere.
func (s sides) diffJSON(was, is json.RawMessage) string {
	if bytes.Equal(was, is) {
		return ""
	}
	d := differ{sides: s}
	d.compare("$", decodeJSON(was), decodeJSON(is))
	return atMost(d.lines)
}

// atMost joins lines, indented. Of too many it shows the first.
func atMost(lines []string) string {
	more := len(lines) - mostLines
	if more > 0 {
		lines = append(slices.Clone(lines[:mostLines]), fmt.Sprintf("and %d more", more))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n\t" + strings.Join(lines, "\n\t")
}

// decodeJSON is a JSON value as a tree that keeps every digit of its numbers. A text
// that is no JSON is a string.
func decodeJSON(data json.RawMessage) any {
	var tree any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return string(data)
	}
	return tree
}

type differ struct {
	sides
	lines []string
}

// missing stands for a value that is only on the other side.
type missing struct{}

func (d *differ) compare(path string, was, is any) {
	if a, ok := was.(map[string]any); ok {
		if b, ok := is.(map[string]any); ok {
			d.objects(path, a, b)
			return
		}
	}
	if a, ok := was.([]any); ok {
		if b, ok := is.([]any); ok {
			d.arrays(path, a, b)
			return
		}
	}
	a, b := brief(was), brief(is)
	if a == b {
		return
	}
	at := commonPrefix(a, b)
	d.lines = append(d.lines, fmt.Sprintf("%s: %s %s, %s %s", path, excerpt(a, at), d.was, excerpt(b, at), d.is))
}

func (d *differ) objects(path string, was, is map[string]any) {
	keys := slices.Sorted(maps.Keys(was))
	keys = append(keys, slices.Sorted(maps.Keys(is))...)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		d.compare(path+field(key), valueOf(was, key), valueOf(is, key))
	}
}

func valueOf(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	return missing{}
}

func (d *differ) arrays(path string, was, is []any) {
	at := func(list []any, i int) any {
		if i < len(list) {
			return list[i]
		}
		return missing{}
	}
	for i := range max(len(was), len(is)) {
		d.compare(fmt.Sprintf("%s[%d]", path, i), at(was, i), at(is, i))
	}
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// field is the part of a path that leads to the field of an object.
func field(key string) string {
	if plainKey.MatchString(key) {
		return "." + key
	}
	return fmt.Sprintf("[%q]", key)
}

// brief is a value in one line.
func brief(v any) string {
	if _, ok := v.(missing); ok {
		return "nothing"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

// commonPrefix is how many bytes two texts begin with alike.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt is a text, or, of a long one, what stands around a place in it.
func excerpt(s string, at int) string {
	const most, before = 160, 40
	if len(s) <= most {
		return s
	}
	from := max(min(at-before, len(s)-most), 0)
	to := min(from+most, len(s))
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	out := s[from:to]
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}
