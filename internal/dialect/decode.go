package dialect

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/convene-go/convene/internal/text"
)

// Decode reads what Encode has written into v, a pointer. A duration may also be a number of
// seconds. Fields that data does not mention, or that are null in it, stay as they are.
//
// The error is a [Faults]: it has all faults, unknown fields among them, each with the path
// of its field. A list or a map with a fault stays as it was. Data that is no JSON, or has a
// name twice in one object, has these faults only: nothing is read.
func Decode(data []byte, v any) error { return decoder{}.all(data, v) }

// DecodeLenient is Decode, but unknown fields are no faults: for what other versions of a
// program have written. Of a name that an object has twice, the last value counts.
func DecodeLenient(data []byte, v any) error { return decoder{lenient: true}.all(data, v) }

type decoder struct{ lenient bool }

// repeated returns a fault for each name that an object in data has more than once.
func repeated(data []byte) (all Faults) {
	if data[0] != '{' && data[0] != '[' {
		return nil
	}
	names, i := map[string]int{}, 0
	for text, value := range members(data) {
		name := ""
		if text != nil {
			name, _ = textOf(text)
			if names[name]++; names[name] == 2 {
				all = all.at(name, Faults{{What: "is there more than once"}})
			}
		}
		if inside := repeated(value); inside != nil {
			all = all.at(cmp.Or(name, "["+strconv.Itoa(i)+"]"), inside)
		}
		i++
	}
	return all
}

func (d decoder) all(data []byte, v any) error {
	if !text.IsCompact(data) && !json.Valid(data) {
		var any json.RawMessage
		return faultOf(json.Unmarshal(data, &any), "is no JSON: ")
	}
	data = bytes.TrimSpace(data)
	if !d.lenient {
		if faults := repeated(data); len(faults) > 0 {
			return faults
		}
	}
	at := reflect.ValueOf(v).Elem()
	if faults := d.form(data, at, shapeOf(at.Type())); len(faults) > 0 {
		return faults
	}
	return nil
}

// value reads data, which is JSON without space around it, into v, which has an address.
func (d decoder) value(data []byte, v reflect.Value, s *shape) Faults {
	if s.readsJSON {
		if own, ok := reflect.TypeAssert[json.Unmarshaler](v.Addr()); ok {
			return faultOf(own.UnmarshalJSON(data), "")
		}
	}
	if s.reads {
		return plainly(data, v)
	}
	return d.form(data, v, s)
}

// plainly reads as encoding/json does.
func plainly(data []byte, v reflect.Value) Faults {
	return faultOf(json.Unmarshal(data, v.Addr().Interface()), "")
}

// form reads by the kind of v, and calls no method of it.
func (d decoder) form(data []byte, v reflect.Value, s *shape) Faults {
	isNull := data[0] == 'n'
	switch {
	case s.amount && v.Type() == durations:
		read, err := readDuration(data)
		return set(v, int64(read), err)
	case s.amount:
		read, err := readMoney(data)
		return set(v, int64(read), err)
	case s.kind == reflect.Pointer && !isNull:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.value(data, v.Elem(), s.elem)
	case s.kind == reflect.Pointer:
		v.SetZero()
		return nil
	case isNull && s.kind != reflect.Interface:
		return nil
	}
	switch s.kind { //nolint:exhaustive // the rest is scalar, or as encoding/json reads it
	case reflect.Struct:
		return d.object(data, v, s)
	case reflect.Map:
		return d.entries(data, v, s)
	case reflect.Slice, reflect.Array:
		if !s.bytes {
			return d.list(data, v, s)
		}
	}
	if s.plain == nil {
		return plainly(data, v)
	}
	return scalar(data, v, s)
}

func set(v reflect.Value, n int64, err error) Faults {
	if err != nil {
		return faultOf(err, "")
	}
	v.SetInt(n)
	return nil
}

// scalar reads a text, a number or a bool.
func scalar(data []byte, v reflect.Value, s *shape) Faults {
	switch s.kind { //nolint:exhaustive // the others are rare
	case reflect.String:
		if text, ok := textOf(data); ok {
			v.SetString(text)
			return nil
		}
	case reflect.Bool:
		if data[0] == 't' || data[0] == 'f' {
			v.SetBool(data[0] == 't')
			return nil
		}
	case reflect.Int, reflect.Int64:
		if n, err := strconv.ParseInt(string(data), 10, 64); err == nil && !v.OverflowInt(n) {
			v.SetInt(n)
			return nil
		}
	case reflect.Float64:
		if data[0] == '-' || data[0] >= '0' && data[0] <= '9' {
			if n, err := strconv.ParseFloat(string(data), 64); err == nil {
				v.SetFloat(n)
				return nil
			}
		}
	}
	if s.plain == v.Type() {
		return plainly(data, v)
	}
	read := reflect.New(s.plain).Elem()
	read.Set(v.Convert(s.plain))
	faults := plainly(data, read)
	v.Set(read.Convert(v.Type()))
	return faults
}

// notA returns the fault of data that is another kind of JSON than that of like.
func notA(like any, data []byte) Faults { return faultOf(json.Unmarshal(data, like), "") }

func (d decoder) object(data []byte, v reflect.Value, s *shape) (all Faults) {
	if data[0] != '{' {
		return notA(&struct{}{}, data)
	}
	var room [24][]byte
	found, unknown := room[:], []string(nil) // the last value of each field
	if len(s.fields) > len(room) {
		found = make([][]byte, len(s.fields))
	}
	for name, value := range members(data) {
		i, ok := s.fieldNamed[string(name[1:len(name)-1])] // no allocation
		if !ok {
			text, _ := textOf(name)
			if i, ok = s.fieldNamed[text]; !ok {
				unknown = append(unknown, text)
				continue
			}
		}
		found[i] = value
	}
	for i := range s.fields {
		if f := &s.fields[i]; found[i] != nil {
			all = all.at(f.name, d.value(found[i], f.make(v), f.shape))
		}
	}
	if d.lenient {
		return all
	}
	slices.Sort(unknown)
	for _, name := range slices.Compact(unknown) {
		all = all.at(name, Faults{{What: "is unknown"}})
	}
	return all
}

// entries reads an object into a copy of a map, beside the entries that it has.
func (d decoder) entries(data []byte, v reflect.Value, s *shape) (all Faults) {
	if data[0] != '{' {
		return notA(&map[string]json.RawMessage{}, data)
	}
	t := v.Type()
	own := reflect.MakeMapWithSize(t, v.Len())
	for key, at := range v.Seq2() {
		own.SetMapIndex(key, at)
	}
	texts := t.Key().Kind() == reflect.String && !reflect.PointerTo(t.Key()).Implements(readsText)
	key, at := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	found := map[string]Faults{} // those of the last value of each key
	for text, value := range members(data) {
		name, _ := textOf(text)
		at.SetZero()
		var faults Faults
		if texts {
			key.SetString(name)
		} else {
			key.SetZero()
			faults = readKey(name, key)
		}
		if faults == nil {
			faults = d.value(value, at, s.elem)
		}
		delete(found, name)
		if faults != nil {
			found[name] = faults
		}
		own.SetMapIndex(key, at)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = all.at(name, found[name])
	}
	if len(all) == 0 {
		v.Set(own)
	}
	return all
}

func readKey(name string, key reflect.Value) Faults {
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](key.Addr()); ok {
		return faultOf(text.UnmarshalText([]byte(name)), "is no key: ")
	}
	return faultOf(json.Unmarshal([]byte(name), key.Addr().Interface()), "is no key: ")
}

func (d decoder) list(data []byte, v reflect.Value, s *shape) (all Faults) {
	if data[0] != '[' {
		return notA(&[]json.RawMessage{}, data)
	}
	own := reflect.New(v.Type()).Elem()
	if s.kind == reflect.Slice {
		n := 0
		for range members(data) {
			n++
		}
		own.Set(reflect.MakeSlice(v.Type(), n, n))
	}
	i := 0
	for _, element := range members(data) {
		if i == own.Len() { // encoding/json drops what an array has no room for
			break
		}
		if faults := d.value(element, own.Index(i), s.elem); faults != nil {
			all = all.at("["+strconv.Itoa(i)+"]", faults)
		}
		i++
	}
	if len(all) == 0 {
		v.Set(own)
	}
	return all
}
