package answer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// The longest pieces of an answer in messages, in bytes.
const (
	maxExcerpt = 60
	maxPath    = 120
)

// escapes are those of JSON pointers.
var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// path is where a value is; nil is the whole answer.
type path struct {
	up   *path
	name string
	item int // in a list; -1: it is the field name of an object
}

func (p *path) field(name string) *path { return &path{up: p, name: name, item: -1} }

func (p *path) index(i int) *path { return &path{up: p, item: i} }

// String returns a JSON pointer, shortened in the middle of long ones.
func (p *path) String() string {
	if p == nil {
		return "the answer"
	}
	var steps []string
	for ; p != nil; p = p.up {
		step := strconv.Itoa(p.item)
		if p.item < 0 {
			step = escapes.Replace(clip(p.name, maxExcerpt))
		}
		steps = append(steps, step)
	}
	var out strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		if i > 0 && out.Len()+len(steps[i])+len(steps[0]) > maxPath {
			out.WriteString("/…")
			i = 0
		}
		out.WriteString("/" + steps[i])
	}
	return out.String()
}

// clip shortens text to at most limit bytes and an ellipsis.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
