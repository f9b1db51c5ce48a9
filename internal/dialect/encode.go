// Package dialect is the JSON that hosts read and write: Configs, Inputs, Outcomes, States,
// events and what lists of runs show.
//
// It is that of encoding/json without its escapes for HTML, and with two differences at any
// depth: a time.Duration is a text such as "5m0s", and a providers.NanoUSD is a decimal number
// of USD. In both, -1 stands for orchestrator.None. Types with methods for JSON or text keep
// their own form. The type that is given to Encode or Decode is the exception: its methods may
// call them.
//
//	type Limits struct {
//		Cost providers.NanoUSD `json:"cost,omitzero"` // {"cost": 0.25}
//		Time time.Duration     `json:"time,omitzero"` // {"time": "5m0s"}, also read from 300
//	}
//
// Other differences from encoding/json are small:
//
//   - The option ",string" of a tag is ignored.
//   - A json.Number is written as a text, and read from one.
//   - The option omitzero does not ask a method IsZero that only the pointer to a value has.
//   - Names of fields are read as they are written: "Cost" is not "cost".
//   - Decode refuses unknown names and names that stand twice in an object.
//
// Records of a run's log are not in this dialect: they have money as whole nano-USD.
package dialect

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/providers"
)

// deepest is the depth at which Encode gives up: a value that contains itself is deeper.
const deepest = 1000

var errTooDeep = fmt.Errorf("is nested more than %d deep: does it contain itself?", deepest)

// Encode returns the JSON of v. An error has the path of what has no JSON form.
func Encode(v any) ([]byte, error) {
	e := encoders.Get().(*encoder) //nolint:errcheck // nothing else is in it
	defer encoders.Put(e)
	e.Reset()
	at := reflect.ValueOf(v)
	for at.Kind() == reflect.Pointer && !at.IsNil() {
		at = at.Elem()
	}
	if at.IsValid() && !at.CanAddr() { // methods of pointers are found only on what has an address
		own := reflect.New(at.Type()).Elem()
		own.Set(at)
		at = own
	}
	if err := e.formAny(at, 0); err != nil {
		return nil, err
	}
	return bytes.Clone(e.Bytes()), nil
}

// encoder is the JSON that was written so far.
type encoder struct{ bytes.Buffer }

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// value writes v in the form that its type has.
func (e *encoder) value(v reflect.Value, s *shape, depth int) error {
	switch {
	case depth > deepest:
		return Faults{{What: errTooDeep.Error()}}
	case s.writesAt && v.CanAddr():
		return e.own(v.Addr())
	case s.writes:
		return e.own(v)
	}
	return e.form(v, s, depth)
}

// own writes what encoding/json makes of v.
func (e *encoder) own(v reflect.Value) error {
	if v.Type() == times || v.Type() == reflect.PointerTo(times) && !v.IsNil() {
		if text, err := v.Interface().(encoding.TextAppender).AppendText(e.AvailableBuffer()); err == nil { //nolint:errcheck // times are
			return e.text(string(text))
		}
	}
	data, err := text.JSON(v.Interface())
	if err != nil {
		return faultOf(err, "has no JSON form: ")
	}
	e.Write(data)
	return nil
}

// formAny is form for a value of any type, or none.
func (e *encoder) formAny(v reflect.Value, depth int) error {
	if !v.IsValid() {
		e.WriteString("null")
		return nil
	}
	return e.form(v, shapeOf(v.Type()), depth)
}

// form writes v by its kind, and calls no method of it.
func (e *encoder) form(v reflect.Value, s *shape, depth int) error {
	switch {
	case s.amount && v.Type() == durations:
		e.WriteString(durationText(time.Duration(v.Int())))
		return nil
	case s.amount:
		e.WriteString(moneyText(providers.NanoUSD(v.Int())))
		return nil
	}
	switch s.kind { //nolint:exhaustive // the rest is as encoding/json writes it
	case reflect.Interface:
		if v.IsNil() {
			e.WriteString("null")
			return nil
		}
		return e.value(v.Elem(), shapeOf(v.Elem().Type()), depth+1)
	case reflect.Pointer:
		if v.IsNil() {
			e.WriteString("null")
			return nil
		}
		return e.value(v.Elem(), s.elem, depth+1)
	case reflect.Struct:
		return e.object(v, s, depth)
	case reflect.Map:
		return e.entries(v, s, depth)
	case reflect.Slice, reflect.Array:
		return e.list(v, s, depth)
	default:
		return e.scalar(v, s)
	}
}

// scalar writes a text, a number or a bool.
func (e *encoder) scalar(v reflect.Value, s *shape) error {
	switch {
	case s.kind == reflect.String:
		return e.text(v.String())
	case s.kind == reflect.Bool:
		e.Write(strconv.AppendBool(e.AvailableBuffer(), v.Bool()))
		return nil
	case v.CanInt():
		e.Write(strconv.AppendInt(e.AvailableBuffer(), v.Int(), 10))
		return nil
	case s.kind == reflect.Float64:
		if n := v.Float(); n == 0 && !math.Signbit(n) || math.Abs(n) >= 1e-6 && math.Abs(n) < 1e21 { // no exponent
			e.Write(strconv.AppendFloat(e.AvailableBuffer(), n, 'f', -1, 64))
			return nil
		}
	}
	if s.plain != nil {
		v = v.Convert(s.plain)
	}
	return e.own(v)
}

// text writes a text.
func (e *encoder) text(text string) error {
	if !utf8.ValidString(text) || strings.Contains(text, "\u2028") || strings.Contains(text, "\u2029") {
		return e.own(reflect.ValueOf(text))
	}
	e.WriteByte('"')
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		e.WriteString(text[from:i])
		from = i + 1
		if short := strings.IndexByte("\"\\\b\f\n\r\t", c); short >= 0 {
			e.Write([]byte{'\\', "\"\\bfnrt"[short]})
		} else {
			e.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]))
		}
	}
	e.WriteString(text[from:])
	e.WriteByte('"')
	return nil
}

func (e *encoder) object(v reflect.Value, s *shape, depth int) error {
	e.WriteByte('{')
	first := true
	for i := range s.fields {
		f := &s.fields[i]
		at, ok := f.in(v)
		if !ok || f.omits(at) {
			continue
		}
		if !first {
			e.WriteByte(',')
		}
		first = false
		e.WriteString(f.key)
		if err := e.value(at, f.shape, depth+1); err != nil {
			return within(f.name, err)
		}
	}
	e.WriteByte('}')
	return nil
}

// entries writes a map, its keys sorted.
func (e *encoder) entries(v reflect.Value, s *shape, depth int) error {
	if v.IsNil() {
		e.WriteString("null")
		return nil
	}
	type entry struct {
		key string
		at  reflect.Value
	}
	all := make([]entry, 0, v.Len())
	for key, at := range v.Seq2() {
		text, err := keyText(key)
		if err != nil {
			return err
		}
		all = append(all, entry{text, at})
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	e.WriteByte('{')
	for i, entry := range all {
		if i > 0 {
			e.WriteByte(',')
		}
		_ = e.text(entry.key) // a text always has a JSON form
		e.WriteByte(':')
		if err := e.value(entry.at, s.elem, depth+1); err != nil {
			return within(entry.key, err)
		}
	}
	e.WriteByte('}')
	return nil
}

// keyText returns the key of a map as JSON names it.
func keyText(key reflect.Value) (string, error) {
	text, marshals := reflect.TypeAssert[encoding.TextMarshaler](key)
	switch {
	case key.Kind() == reflect.String:
		return key.String(), nil
	case marshals:
		data, err := text.MarshalText()
		return string(data), err
	case key.CanInt():
		return strconv.FormatInt(key.Int(), 10), nil
	case key.CanUint():
		return strconv.FormatUint(key.Uint(), 10), nil
	}
	return "", Faults{{What: fmt.Sprintf("has keys of the type %v, want texts or whole numbers", key.Type())}}
}

// list writes a slice or an array. Bytes are as encoding/json writes them.
func (e *encoder) list(v reflect.Value, s *shape, depth int) error {
	if s.kind == reflect.Slice {
		if v.IsNil() {
			e.WriteString("null")
			return nil
		}
		if s.bytes {
			return e.own(v)
		}
	}
	e.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			e.WriteByte(',')
		}
		if err := e.value(v.Index(i), s.elem, depth+1); err != nil {
			return within("["+strconv.Itoa(i)+"]", err)
		}
	}
	e.WriteByte(']')
	return nil
}

// within returns err with name before its paths.
func within(name string, err error) error {
	inner, ok := errors.AsType[Faults](err)
	if !ok {
		return err
	}
	return Faults(nil).at(name, inner)
}
