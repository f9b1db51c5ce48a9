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

// diffJSON returns every place where two JSON values differ, one a line; "": nowhere.
func (s sides) diffJSON(was, is json.RawMessage) string {
	if bytes.Equal(was, is) {
		return ""
	}
	d := differ{sides: s}
	d.compare("$", decodeJSON(was), decodeJSON(is))
	return atMost(d.lines)
}

// atMost joins lines, each indented and after a newline. Only the first 20 are shown.
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

// decodeJSON returns a JSON value as a tree that keeps every digit of its numbers. A text
// that is no JSON is returned as a string.
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

// missing stands for a value that only the other side has.
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

// valueOf returns the value of a field, or missing.
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

// field returns the part of a path that leads to the field of an object.
func field(key string) string {
	if plainKey.MatchString(key) {
		return "." + key
	}
	return fmt.Sprintf("[%q]", key)
}

// brief returns a value as JSON in one line.
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

// commonPrefix returns the length of the longest common prefix, in bytes.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt returns s, or of a long s 160 bytes around the place at.
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
