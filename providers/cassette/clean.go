package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/providers/internal/redact"
)

var errHoldsSecret = errors.New("it still holds a secret after redaction")

// answer cleans the text of an answer.
func (c cleaner) answer(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD") // a JSON file holds no other text
	if c.Redact != nil {
		text = c.Redact(text)
	}
	return c.secrets(text)
}

// request cleans a text of a request.
func (c cleaner) request(text string) string {
	text = c.answer(text)
	if c.Normalize != nil {
		text = c.Normalize(text)
	}
	return text
}

// secrets removes keys from a text. JSON in it stays valid, and is changed only where a
// value or a name is or contains a key: an answer such as {"key":"the-first-part"} must
// not be changed.
func (c cleaner) secrets(text string) string {
	if c.Unredacted {
		return text
	}
	if done, ok := c.done.Load(text); ok {
		return done.(string) //nolint:errcheck // only texts are stored
	}
	clean := c.take(text)
	c.done.Store(text, clean)
	return clean
}

func (c cleaner) take(text string) string {
	const tries = 32 // places that may be no JSON; only a hostile text needs more
	var out strings.Builder
	begun, at := 0, 0 // begin of the part not written yet, and of the next search
	for range tries {
		i := strings.IndexAny(text[at:], "{[")
		if i < 0 {
			break
		}
		at += i
		v, length := readFirst(text[at:])
		if length == 0 {
			at++
			continue
		}
		out.WriteString(c.redactor.Clean(text[begun:at]))
		if tree := text[at : at+length]; c.inside(&v, c.redactor.Clean) {
			out.Write(encode(v))
		} else {
			out.WriteString(tree)
		}
		at += length
		begun = at
	}
	out.WriteString(c.redactor.Clean(text[begun:]))
	return out.String()
}

// raw cleans the texts in JSON with a function. What needs no cleaning, or is not JSON,
// is unchanged.
func (c cleaner) raw(data json.RawMessage, clean func(string) string) json.RawMessage {
	v, ok := readJSON(string(data))
	if !ok || !c.inside(&v, clean) {
		return data
	}
	return encode(v)
}

// inside changes all texts in v, and removes keys, by name or in the form of a number. It
// tells whether anything changed.
func (c cleaner) inside(v *any, clean func(string) string) bool {
	changed := false
	*v = walk(*v, func(leaf any) any {
		switch x := leaf.(type) {
		case string:
			out := clean(x)
			changed = changed || out != x
			return out
		case json.Number:
			if !c.Unredacted && c.redactor.Holds(x.String()) {
				changed = true
				return redact.Mark
			}
		}
		return leaf
	})
	return !c.Unredacted && credentials(*v) || changed
}

// credential matches the names of members whose value is a key, whatever its form.
var credential = regexp.MustCompile(`(?i)(api|access|auth|private|secret)[-_]?key$|(access|auth|bearer|refresh)[-_]?token$|^authorization$|password$|secret$`)

// credentials removes the values of credentials from v, and tells whether there were
// any. A value with a space in it is a sentence, not a key.
func credentials(v any) bool {
	found := false
	switch x := v.(type) {
	case map[string]any:
		for name, inner := range x {
			if s, ok := inner.(string); ok && s != "" && s != redact.Mark && credential.MatchString(name) && !strings.ContainsAny(s, " \n") {
				x[name], found = redact.Mark, true
				continue
			}
			found = credentials(inner) || found
		}
	case []any:
		for _, inner := range x {
			found = credentials(inner) || found
		}
	}
	return found
}

// check returns an error if a line still contains a secret. Its Key is a hash.
func (c cleaner) check(l line) error {
	l.Key = ""
	v, _ := readJSON(string(encode(l)))
	var err error
	walk(v, func(leaf any) any {
		if s, ok := leaf.(string); ok && c.secrets(s) != s {
			err = errHoldsSecret
		}
		return leaf
	})
	return err
}

// readJSON reads a text that is one value.
func readJSON(text string) (any, bool) {
	v, length := readFirst(text)
	return v, length > 0 && strings.TrimSpace(text[length:]) == ""
}

// readFirst reads the value at the beginning of a text, and returns its length: 0 if
// there is none. Numbers keep their digits.
func readFirst(text string) (v any, length int) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, 0
	}
	return v, int(d.InputOffset())
}

// walk returns v with all leaves and the names of members changed; names stay texts.
func walk(v any, change func(leaf any) any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = walk(x[i], change)
		}
		return x
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			inner := walk(x[name], change)
			delete(x, name)
			x[fmt.Sprint(change(name))] = inner
		}
		return x
	}
	return change(v)
}

// encode returns v as readable JSON with sorted members. It panics if v has no JSON form:
// v was read from JSON, or checked.
func encode(v any) json.RawMessage {
	data, err := marshal(v)
	if err != nil {
		panic(fmt.Sprintf("cassette: encode %T: %v", v, err))
	}
	return data
}

// marshal is json.Marshal that leaves <, > and & alone.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
