package answer

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A value is read into a T without being written as JSON in between: fill sets the
// parts of T that hold plain strings, booleans, numbers, lists, maps and structs from
// the tree of the parser. All other types, such as those with an UnmarshalJSON, get
// their part as JSON, as they always did.
//
// The invariant: where fill succeeds, T is what encoding/json makes of the same value.
// Where it is not sure, or something does not fit, it gives up, and Read has
// encoding/json read the whole: so errors have its words.
//
// For {"n":1,"at":"2026-01-02T15:04:05Z"}, fill sets N itself and has At read by
// time.Time.

// filler is how values of one type are filled.
type filler struct {
	byJSON bool     // encoding/json reads the value
	fields []*field // struct: its fields, in order
}

// fillers caches *filler by reflect.Type.
var fillers sync.Map

// unusual matches names of fields that encoding/json may not accept in a tag.
var unusual = regexp.MustCompile(`[^\pL\pN _./-]`)

// fillerOf returns the filler of a type.
func fillerOf(t reflect.Type) *filler {
	if f, ok := fillers.Load(t); ok {
		return f.(*filler) //nolint:errcheck // only fillers are stored
	}
	f := &filler{}
	self := reflect.PointerTo(t)
	switch k := t.Kind(); {
	case self.Implements(reflect.TypeFor[json.Unmarshaler]()), self.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()), t == reflect.TypeFor[json.Number]():
		f.byJSON = true
	case k == reflect.Slice:
		f.byJSON = t.Elem().Kind() == reflect.Uint8 // in base64
	case k == reflect.Map:
		key := t.Key()
		f.byJSON = key.Kind() != reflect.String || reflect.PointerTo(key).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	case k == reflect.Struct:
		f.fields = fieldsOf(t, nil)
		for _, field := range f.fields {
			f.byJSON = f.byJSON || slices.ContainsFunc(f.fields, field.hiddenBy) || field.has("string") || unusual.MatchString(field.name)
		}
		for field := range t.Fields() {
			f.byJSON = f.byJSON || field.Anonymous
		}
	default:
		f.byJSON = k != reflect.Pointer && !scalar(k)
	}
	kept, _ := fillers.LoadOrStore(t, f)
	return kept.(*filler) //nolint:errcheck // only fillers are stored
}

// fill sets dst, which is zero, to a value that a parser made. It reports whether it
// did; if not, dst holds a part of it.
func fill(dst reflect.Value, v any) bool {
	f := fillerOf(dst.Type())
	switch {
	case f.byJSON:
		return decode(encode(v), dst.Addr().Interface()) == nil
	case v == nil: // the zero value
		return true
	case dst.Kind() == reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return fill(dst.Elem(), v)
	}
	switch x := v.(type) {
	case string:
		if dst.Kind() == reflect.String {
			dst.SetString(strings.Clone(x)) // not a piece of the whole answer
			return true
		}
	case bool:
		if dst.Kind() == reflect.Bool {
			dst.SetBool(x)
			return true
		}
	case json.Number:
		return fillNumber(dst, string(x))
	case []any:
		return fillList(dst, x)
	case map[string]any:
		if dst.Kind() == reflect.Map {
			return fillMap(dst, x)
		}
		return fillStruct(dst, x, f.fields)
	}
	return false
}

func fillNumber(dst reflect.Value, number string) bool {
	switch {
	case dst.CanInt():
		n, err := strconv.ParseInt(number, 10, dst.Type().Bits())
		dst.SetInt(n)
		return err == nil
	case dst.CanUint():
		n, err := strconv.ParseUint(number, 10, dst.Type().Bits())
		dst.SetUint(n)
		return err == nil
	case dst.CanFloat():
		n, err := strconv.ParseFloat(number, dst.Type().Bits())
		dst.SetFloat(n)
		return err == nil
	}
	return false
}

func fillList(dst reflect.Value, list []any) bool {
	if dst.Kind() != reflect.Slice {
		return false
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(list), len(list)))
	for i, v := range list {
		if !fill(dst.Index(i), v) {
			return false
		}
	}
	return true
}

func fillMap(dst reflect.Value, object map[string]any) bool {
	t := dst.Type()
	dst.Set(reflect.MakeMapWithSize(t, len(object)))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		elem := reflect.New(t.Elem()).Elem()
		if !fill(elem, object[name]) {
			return false
		}
		dst.SetMapIndex(reflect.ValueOf(strings.Clone(name)).Convert(t.Key()), elem)
	}
	return true
}

// fillStruct gives up at names that the fields do not have: encoding/json ignores their
// case.
func fillStruct(dst reflect.Value, object map[string]any, fields []*field) bool {
	known := 0
	for _, f := range fields {
		v, ok := object[f.name]
		if !ok {
			continue
		}
		if known++; !fill(dst.FieldByIndex(f.Index), v) {
			return false
		}
	}
	return dst.Kind() == reflect.Struct && known == len(object)
}
