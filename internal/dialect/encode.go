// Package dialect is the JSON that hosts read and write: Configs, Inputs, Outcomes, States,
// events and what lists of runs show.
//
// It is that of encoding/json without its escapes for HTML, and with two differences at any
// depth: a time.Duration is a text
// such as "5m0s", and a providers.NanoUSD is a decimal number of USD. In both, -1 stands for
// orchestrator.None. Types with methods for JSON or text keep their own form. The type that
// is given to Encode or Decode is the exception: its methods may call them.
//
//	type Limits struct {
//		Cost providers.NanoUSD `json:"cost,omitzero"` // {"cost": 0.25}
//		Time time.Duration     `json:"time,omitzero"` // {"time": "5m0s"}, also read from 300
//	}
//
// Records of a run's log are not in this dialect: they have money as whole nano-USD.
package dialect

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/convene-go/convene/providers"
)

// deepest is the depth at which Encode gives up: a value that contains itself is deeper.
const deepest = 1000

var errTooDeep = fmt.Errorf("is nested more than %d deep: does it contain itself?", deepest)

// The types with a form of their own in the dialect.
var (
	durations = reflect.TypeFor[time.Duration]()
	moneys    = reflect.TypeFor[providers.NanoUSD]()
)

// The methods with which a type writes and reads its JSON itself.
var (
	writesJSON, readsJSON = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()
	writesText, readsText = reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()
)

// Encode returns the JSON of v. An error has the path of what has no JSON form.
func Encode(v any) ([]byte, error) {
	var e encoder
	at := reflect.ValueOf(v)
	for at.Kind() == reflect.Pointer && !at.IsNil() {
		at = at.Elem()
	}
	if at.IsValid() && !at.CanAddr() { // methods of pointers are found only on what has an address
		own := reflect.New(at.Type()).Elem()
		own.Set(at)
		at = own
	}
	if err := e.form(at, 0); err != nil {
		return nil, err
	}
	return e.Bytes(), nil
}

// encoder is the JSON that was written so far.
type encoder struct{ bytes.Buffer }

// value writes v in the form that its type has.
func (e *encoder) value(v reflect.Value, depth int) error {
	if depth > deepest {
		return Faults{{What: errTooDeep.Error()}}
	}
	if v.IsValid() && v.Type() != durations && v.Type() != moneys && v.Kind() != reflect.Interface {
		if v.CanAddr() && v.Kind() != reflect.Pointer && writes(reflect.PointerTo(v.Type())) {
			return e.own(v.Addr())
		}
		if writes(v.Type()) {
			return e.own(v)
		}
	}
	return e.form(v, depth)
}

func writes(t reflect.Type) bool { return t.Implements(writesJSON) || t.Implements(writesText) }

// own writes what encoding/json makes of v.
func (e *encoder) own(v reflect.Value) error {
	into := json.NewEncoder(e)
	into.SetEscapeHTML(false)
	if err := into.Encode(v.Interface()); err != nil {
		return faultOf(err, "has no JSON form: ")
	}
	e.Truncate(e.Len() - 1) // the line break
	return nil
}

// form writes v by its kind, and calls no method of it.
func (e *encoder) form(v reflect.Value, depth int) error {
	switch {
	case !v.IsValid():
		e.WriteString("null")
		return nil
	case v.Type() == durations:
		e.WriteString(durationText(time.Duration(v.Int())))
		return nil
	case v.Type() == moneys:
		e.WriteString(moneyText(providers.NanoUSD(v.Int())))
		return nil
	}
	switch v.Kind() { //nolint:exhaustive // the rest is as encoding/json writes it
	case reflect.Interface, reflect.Pointer:
		return e.value(v.Elem(), depth+1)
	case reflect.Struct:
		return e.object(v, depth)
	case reflect.Map:
		return e.entries(v, depth)
	case reflect.Slice, reflect.Array:
		return e.list(v, depth)
	default:
		if plain, ok := basic[v.Kind()]; ok {
			v = v.Convert(plain)
		}
		return e.own(v)
	}
}

// basic has the type without methods of each kind of scalar.
var basic = map[reflect.Kind]reflect.Type{}

func init() {
	for _, v := range []any{
		false, "", 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), uintptr(0), float32(0), 0.0,
	} {
		basic[reflect.TypeOf(v).Kind()] = reflect.TypeOf(v)
	}
}

func (e *encoder) object(v reflect.Value, depth int) error {
	e.WriteByte('{')
	first := true
	for _, f := range fieldsOf(v.Type()) {
		at, ok := f.in(v)
		if !ok || f.omits(at) {
			continue
		}
		if !first {
			e.WriteByte(',')
		}
		first = false
		e.key(f.name)
		if err := e.value(at, depth+1); err != nil {
			return within(f.name, err)
		}
	}
	e.WriteByte('}')
	return nil
}

func (e *encoder) key(name string) {
	_ = e.own(reflect.ValueOf(name)) // a text always has a JSON form
	e.WriteByte(':')
}

// entries writes a map, its keys sorted.
func (e *encoder) entries(v reflect.Value, depth int) error {
	if v.IsNil() {
		e.WriteString("null")
		return nil
	}
	type entry struct {
		key string
		at  reflect.Value
	}
	var all []entry
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
		e.key(entry.key)
		if err := e.value(entry.at, depth+1); err != nil {
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
func (e *encoder) list(v reflect.Value, depth int) error {
	if v.Kind() == reflect.Slice {
		if v.IsNil() {
			e.WriteString("null")
			return nil
		}
		if isBytes(v.Type()) {
			return e.own(v)
		}
	}
	e.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			e.WriteByte(',')
		}
		if err := e.value(v.Index(i), depth+1); err != nil {
			return within("["+strconv.Itoa(i)+"]", err)
		}
	}
	e.WriteByte(']')
	return nil
}

func isBytes(t reflect.Type) bool {
	el := t.Elem()
	return el.Kind() == reflect.Uint8 && !reflect.PointerTo(el).Implements(writesJSON) && !reflect.PointerTo(el).Implements(writesText)
}

// within returns err with name before its paths.
func within(name string, err error) error {
	inner, ok := errors.AsType[Faults](err)
	if !ok {
		return err
	}
	return Faults(nil).at(name, inner)
}
