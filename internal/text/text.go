// Package text has what many packages do with text: shorten it, delimit it in a
// prompt, write JSON.
package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Shorten returns s, or its first limit bytes and an ellipsis if s is longer. It
// cuts between runes.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return head(s, limit) + "…"
}

// Cut is [Shorten] with a line that says how much was cut off. A limit of 0 or less
// is no limit.
func Cut(s string, limit int) string {
	if limit <= 0 || len(s) <= limit {
		return s
	}
	short := head(s, limit)
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", short, len(short), len(s))
}

// Ends returns s, or its beginning and its end, of limit bytes together, with a line between
// them that says how much is missing, if s is longer.
func Ends(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	first, at := head(s, limit/2), len(s)-limit/2
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return fmt.Sprintf("%s\n[cut: %d of %d bytes]\n%s", first, at-len(first), len(s), s[at:])
}

// head is the longest beginning of s of at most limit bytes that ends between
// runes. s is longer than limit.
func head(s string, limit int) string {
	at := max(limit, 0)
	for back := 0; at > 0 && back < utf8.UTFMax && !utf8.RuneStart(s[at]); back++ {
		at--
	}
	return s[:at]
}

// closing finds the end tags of [Delimit], also written with spaces or capitals.
var closing = regexp.MustCompile(`(?i)<(\s*)/(\s*(?:data|input))`)

// Delimit returns body between the lines <tag> and </tag>, where tag is data or
// input, with attributes or without. The body cannot close the tag: end tags in it
// get a backslash before their slash, which in a string of JSON changes nothing.
func Delimit(tag, attributes, body string) string {
	return "<" + tag + attributes + ">\n" + closing.ReplaceAllString(body, `<$1\/$2`) + "\n</" + tag + ">"
}

// OneLine returns s with each run of white space as one space, and none at its ends.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// encoders are buffers with an encoder each, to be used again.
var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}}

type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// JSON returns v as JSON without escapes for HTML: they would change a
// json.RawMessage inside v, and make text longer and harder to read for models.
func JSON(v any) (json.RawMessage, error) {
	if own, ok := v.(json.Marshaler); ok {
		if at := reflect.ValueOf(v); at.Kind() != reflect.Pointer || !at.IsNil() {
			return ownJSON(own)
		}
	}
	e, _ := encoders.Get().(*encoder)
	if e.buf.Cap() < keep { // a buffer that was once large is not kept for good
		defer encoders.Put(e)
	}
	e.buf.Reset()
	if err := e.json.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))), nil
}

// ownJSON is JSON of what writes itself, without the pass of encoding/json over each byte.
func ownJSON(v json.Marshaler) (json.RawMessage, error) {
	data, err := v.MarshalJSON()
	if err == nil && IsCompact(data) {
		return bytes.Clone(data), nil
	}
	var short bytes.Buffer
	if err == nil {
		err = json.Compact(&short, data)
	}
	if err != nil {
		return nil, &json.MarshalerError{Type: reflect.TypeOf(v), Err: err}
	}
	return short.Bytes(), nil
}

// ReadJSON is json.Unmarshal. A v that reads itself gets compact data without the two passes
// of encoding/json over it.
func ReadJSON(data []byte, v any) error {
	if own, ok := v.(json.Unmarshaler); ok && IsCompact(data) {
		return own.UnmarshalJSON(data)
	}
	return json.Unmarshal(data, v)
}

// keep is how many bytes of a buffer are kept for the next use.
const keep = 1 << 20

// AppendJSON appends s to b as JSON makes it. Where b has room, a large s costs no more
// memory than that.
func AppendJSON(b []byte, s string) []byte {
	const piece = 64 << 10
	e, _ := encoders.Get().(*encoder)
	defer encoders.Put(e)
	b = append(b, '"')
	for len(s) > 0 {
		n := min(piece, len(s))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		e.buf.Reset()
		_ = e.json.Encode(s[:n]) // a text always has a JSON form
		part := e.buf.Bytes()
		b, s = append(b, part[1:len(part)-2]...), s[n:] // part has quotes and a newline
	}
	return append(b, '"')
}

// Secret stands for a text that must not be shown.
const Secret = "[secret]"
