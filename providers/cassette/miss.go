package cassette

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers"
)

// ErrMiss says that a call is not on the cassette. Its error, of kind Invalid, has the
// call's key, its last message and the nearest recorded calls.
var ErrMiss = errors.New("the cassette does not have this call")

// near is how many recorded calls a miss shows.
const near = 3

// miss records that nothing was recorded for asked.
func (p *Player) miss(asked line) *providers.Error {
	text := fmt.Sprintf("%s has no call of model %q with the key %s, %s; %s",
		p.path, asked.Model, asked.Key[:12], lastMessage(asked), p.nearest(asked))
	e := &providers.Error{Kind: providers.Invalid, Model: asked.Model, Message: text, Err: ErrMiss}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.misses = append(p.misses, e)
	return e
}

// nearest describes the recorded calls that are most like asked.
func (p *Player) nearest(asked line) string {
	type candidate struct{ n, score int }
	var same []candidate
	seen, models := map[string]bool{}, map[string]bool{}
	for i, l := range p.lines {
		models[l.Model] = true
		if l.Model == asked.Model && !seen[l.Key] {
			seen[l.Key] = true
			same = append(same, candidate{i, likeness(l.Req, asked.Req)})
		}
	}
	if len(models) == 0 {
		return "it has no calls at all"
	}
	if len(same) == 0 {
		names := slices.Sorted(maps.Keys(models))
		return fmt.Sprintf("it has only calls of the models %q", names)
	}
	slices.SortStableFunc(same, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	var lines []string
	for _, c := range same[:min(near, len(same))] {
		lines = append(lines, fmt.Sprintf("line %d (%s)", p.lines[c.n].n, difference(p.lines[c.n].Req, asked.Req)))
	}
	return "the nearest recorded ones are " + strings.Join(lines, ", ")
}

// likeness is how many bytes two texts have in common at both ends.
func likeness(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	m := 0
	for m < min(len(a), len(b))-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return n + m - abs(len(a)-len(b))
}

func abs(n int) int { return max(n, -n) }

// difference describes the first difference of two requests.
func difference(recorded, asked []byte) string {
	a, _ := readJSON(string(recorded))
	b, _ := readJSON(string(asked))
	where, x, y := differ("", a, b)
	return fmt.Sprintf("%s was %s, is %s", strings.TrimPrefix(where, "."), quote(x, y), quote(y, x))
}

// missing is an absent value.
type missing struct{}

// differ finds the first place where two values differ.
func differ(at string, a, b any) (where string, x, y any) {
	switch p := a.(type) {
	case map[string]any:
		q, ok := b.(map[string]any)
		if !ok {
			break
		}
		both := maps.Clone(p)
		maps.Copy(both, q)
		for _, name := range slices.Sorted(maps.Keys(both)) {
			if where, x, y := differ(at+"."+name, member(p, name), member(q, name)); where != "" {
				return where, x, y
			}
		}
		return "", nil, nil
	case []any:
		q, ok := b.([]any)
		if !ok {
			break
		}
		for i := range max(len(p), len(q)) {
			if where, x, y := differ(fmt.Sprintf("%s[%d]", at, i), item(p, i), item(q, i)); where != "" {
				return where, x, y
			}
		}
		return "", nil, nil
	}
	if a == b {
		return "", nil, nil
	}
	return at, a, b
}

func member(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return missing{}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return missing{}
}

// quote shows a value; of a long text, the part where it begins to differ from the other.
func quote(v, other any) string {
	switch x := v.(type) {
	case missing:
		return "not there"
	case string:
		o, _ := other.(string)
		return fmt.Sprintf("%q", around(x, o))
	}
	return short(string(encode(v)))
}

// around returns the part of a in which it begins to differ from b.
func around(a, b string) string {
	const before = 20 // runes
	x, y := []rune(a), []rune(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	if n <= before {
		return short(a)
	}
	return "..." + short(string(x[n-before:]))
}

func short(text string) string {
	const limit = 120 // runes
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return text
}

// lastMessage describes the last message of a request.
func lastMessage(l line) string {
	v, _ := readJSON(string(l.Req))
	req, _ := v.(map[string]any)
	messages, _ := req["messages"].([]any)
	if len(messages) == 0 {
		return "without messages"
	}
	m, _ := messages[len(messages)-1].(map[string]any)
	text, _ := m["text"].(string)
	return fmt.Sprintf("whose last message is %v: %q", m["role"], short(text))
}
