package dialect

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// Decode reads what Encode has written into v, a pointer. A duration may also be a number of
// seconds. Fields that data does not mention, or that are null in it, stay as they are.
//
// The error is a [Faults]: it has all faults, unknown fields among them, each with the path
// of its field. A list or a map with a fault stays as it was.
func Decode(data []byte, v any) error { return decoder{}.all(data, v) }

// DecodeLenient is Decode, but unknown fields are no faults: for what other versions of a
// program have written.
func DecodeLenient(data []byte, v any) error { return decoder{lenient: true}.all(data, v) }

type decoder struct{ lenient bool }

func (d decoder) all(data []byte, v any) error {
	if !json.Valid(data) {
		var any json.RawMessage
		return faultOf(json.Unmarshal(data, &any), "is no JSON: ")
	}
	if faults := d.form(data, reflect.ValueOf(v).Elem()); len(faults) > 0 {
		return faults
	}
	return nil
}

// value reads data, which is JSON, into v, which has an address.
func (d decoder) value(data []byte, v reflect.Value) Faults {
	if v.Type() != durations && v.Type() != moneys && v.Kind() != reflect.Pointer && v.Kind() != reflect.Interface {
		if own := v.Addr().Type(); own.Implements(readsJSON) || own.Implements(readsText) {
			return plainly(data, v)
		}
	}
	return d.form(data, v)
}

// plainly reads as encoding/json does.
func plainly(data []byte, v reflect.Value) Faults {
	return faultOf(json.Unmarshal(data, v.Addr().Interface()), "")
}

// form reads by the kind of v, and calls no method of it.
func (d decoder) form(data []byte, v reflect.Value) Faults {
	isNull := bytes.Equal(bytes.TrimSpace(data), []byte("null"))
	switch {
	case v.Type() == durations:
		read, err := readDuration(data)
		return set(v, int64(read), err)
	case v.Type() == moneys:
		read, err := readMoney(data)
		return set(v, int64(read), err)
	case v.Kind() == reflect.Pointer && !isNull:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.value(data, v.Elem())
	case v.Kind() == reflect.Pointer:
		v.SetZero()
		return nil
	case isNull && v.Kind() != reflect.Interface:
		return nil
	}
	switch v.Kind() { //nolint:exhaustive // the rest is as encoding/json reads it
	case reflect.Struct:
		return d.object(data, v)
	case reflect.Map:
		return d.entries(data, v)
	case reflect.Slice, reflect.Array:
		if !isBytes(v.Type()) {
			return d.list(data, v)
		}
	}
	if t, ok := basic[v.Kind()]; ok && t != v.Type() {
		read := reflect.New(t).Elem()
		read.Set(v.Convert(t))
		faults := plainly(data, read)
		v.Set(read.Convert(v.Type()))
		return faults
	}
	return plainly(data, v)
}

func set(v reflect.Value, n int64, err error) Faults {
	if err != nil {
		return faultOf(err, "")
	}
	v.SetInt(n)
	return nil
}

func (d decoder) object(data []byte, v reflect.Value) (all Faults) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return faultOf(err, "")
	}
	for _, f := range fieldsOf(v.Type()) {
		if raw, ok := members[f.name]; ok {
			delete(members, f.name)
			all = all.at(f.name, d.value(raw, f.make(v)))
		}
	}
	if d.lenient {
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		all = all.at(name, Faults{{What: "is unknown"}})
	}
	return all
}

// entries reads an object into a copy of a map, beside the entries that it has.
func (d decoder) entries(data []byte, v reflect.Value) (all Faults) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return faultOf(err, "")
	}
	own := reflect.MakeMapWithSize(v.Type(), v.Len()+len(members))
	for key, at := range v.Seq2() {
		own.SetMapIndex(key, at)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		key, at := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		faults := readKey(name, key)
		if faults == nil {
			faults = d.value(members[name], at)
		}
		all = all.at(name, faults)
		own.SetMapIndex(key, at)
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
	if key.Kind() == reflect.String {
		key.SetString(name)
		return nil
	}
	return faultOf(json.Unmarshal([]byte(name), key.Addr().Interface()), "is no key: ")
}

func (d decoder) list(data []byte, v reflect.Value) (all Faults) {
	var elements []json.RawMessage
	if err := json.Unmarshal(data, &elements); err != nil {
		return faultOf(err, "")
	}
	own := reflect.New(v.Type()).Elem()
	if v.Kind() == reflect.Slice {
		own.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
	}
	for i, element := range elements {
		if i < own.Len() { // encoding/json drops what an array has no room for
			all = all.at("["+strconv.Itoa(i)+"]", d.value(element, own.Index(i)))
		}
	}
	if len(all) == 0 {
		v.Set(own)
	}
	return all
}
