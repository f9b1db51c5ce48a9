package dialect

import (
	"reflect"
	"slices"
	"strings"
)

// field is a field of a struct as JSON has it. Fields of embedded structs are fields of the
// struct that embeds them.
type field struct {
	name      string
	key       string // name as JSON, with the colon
	index     []int  // index for reflect.Value.FieldByIndex
	tagged    bool   // its name is from its tag
	omitEmpty bool
	omitZero  bool
	asksZero  bool // its type has a method IsZero
	shape     *shape
}

// fieldsOf returns the fields of a struct, in the order of its source. Of several of one
// name the rule of encoding/json holds: the least deep counts, of those the one with a tag;
// if there are still several, none does.
func fieldsOf(t reflect.Type) []field {
	var all []field
	collect(t, nil, map[reflect.Type]bool{}, &all)
	return slices.DeleteFunc(slices.Clone(all), func(f field) bool { return hidden(f, all) })
}

// hidden reports whether another field of the same name hides f.
func hidden(f field, all []field) bool {
	for _, g := range all {
		if g.name != f.name || slices.Equal(g.index, f.index) {
			continue
		}
		if len(g.index) < len(f.index) || len(g.index) == len(f.index) && (g.tagged || !f.tagged) {
			return true
		}
	}
	return false
}

// collect appends the fields of t, which is at index in the outermost struct. around has the
// types that embed t: a struct that embeds itself through a pointer has each field once.
func collect(t reflect.Type, index []int, around map[reflect.Type]bool, all *[]field) {
	if around[t] {
		return
	}
	around[t] = true
	defer delete(around, t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer && inner.Name() == "" {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && inner.Kind() == reflect.Struct
		if tag == "-" || !f.IsExported() && (!embedded || inner != f.Type) {
			continue
		}
		at := append(slices.Clone(index), i)
		if embedded && name == "" {
			collect(inner, at, around, all)
			continue
		}
		if !f.IsExported() {
			continue
		}
		omits := strings.Split(options, ",")
		own := field{name: name, index: at, tagged: name != "", omitEmpty: slices.Contains(omits, "omitempty"), omitZero: slices.Contains(omits, "omitzero")}
		own.asksZero = f.Type.Implements(reflect.TypeFor[zeroer]())
		if name == "" {
			own.name = f.Name
		}
		*all = append(*all, own)
	}
}

// zeroer is a type that says itself whether a value is zero.
type zeroer interface{ IsZero() bool }

// in returns the field in a struct; false if it is in a nil pointer that the struct embeds.
func (f *field) in(v reflect.Value) (reflect.Value, bool) {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// make is like in, but it makes the pointers that are missing on the way.
func (f *field) make(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// omits reports whether the tag of f leaves out the value v.
func (f *field) omits(v reflect.Value) bool {
	if f.omitZero {
		if f.asksZero && (v.Kind() != reflect.Pointer || !v.IsNil()) {
			if z, ok := reflect.TypeAssert[zeroer](v); ok {
				return z.IsZero()
			}
		}
		if v.IsZero() {
			return true
		}
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() { //nolint:exhaustive // structs are never empty
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}
