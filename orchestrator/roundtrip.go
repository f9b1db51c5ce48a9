package orchestrator

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// checkJSON returns an error if values of type t lose something on their way through
// JSON: it names what, and each type and field that does not survive. nil: t is fine.
// Methods MarshalJSON and UnmarshalJSON, or those for text, are trusted. An any is
// allowed, although it decodes as a map, list, string, bool or float64. A field with
// the tag json:"-" is left out on purpose.
//
// Results are kept by type. It is safe for concurrent use.
func checkJSON(t reflect.Type, what string) error {
	kept, ok := checkedTypes.Load(t)
	if !ok {
		l := losses{seen: map[place]bool{}}
		l.value(place{t, false}, t.String())
		kept, _ = checkedTypes.LoadOrStore(t, errors.Join(l.list...))
	}
	if err, lost := kept.(error); lost {
		return fmt.Errorf("%s does not survive JSON: %w", what, err)
	}
	return nil
}

// checkedTypes has the error of each reflect.Type that was checked, or nil.
var checkedTypes sync.Map

// losses collects what JSON loses.
type losses struct {
	list []error
	seen map[place]bool
}

// place is a type where it is used. Package encoding/json calls methods of pointers
// only on values that are addressable.
type place struct {
	reflect.Type
	addressable bool
}

func (l *losses) add(path, format string, args ...any) {
	l.list = append(l.list, fmt.Errorf(path+": "+format, args...))
}

// value looks at a value, which is at path.
func (l *losses) value(v place, path string) {
	if l.seen[v] || l.hasMethods(v, path) {
		return
	}
	l.seen[v] = true
	switch v.Kind() { //nolint:exhaustive // all others are scalars
	case reflect.Pointer:
		l.value(place{v.Elem(), true}, path)
	case reflect.Slice:
		l.value(place{v.Elem(), true}, path+"[]")
	case reflect.Array:
		l.value(place{v.Elem(), v.addressable}, path+"[]")
	case reflect.Map:
		if !isKey(v.Key()) {
			l.add(path, "%v cannot be a key in JSON: want a string, an integer, or a type with MarshalText and UnmarshalText", v.Key())
		}
		l.value(place{v.Elem(), false}, path+"[]")
	case reflect.Struct:
		l.fields(v, path, map[string]string{}, nil)
	case reflect.Interface:
		if v.NumMethod() > 0 {
			l.add(path, "an interface with methods (%v) cannot be decoded: want another type", v.Type)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		l.add(path, "a %v has no JSON form", v.Type)
	default: // booleans, numbers, strings
	}
}

func isKey(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr ||
		t.Implements(textMethods.writer) && reflect.PointerTo(t).Implements(textMethods.reader)
}

// fields looks at the fields of a struct. names has the path of each JSON name that
// is used, around the structs that embed this one.
func (l *losses) fields(v place, path string, names map[string]string, around []reflect.Type) {
	if slices.Contains(around, v.Type) {
		return // it embeds itself: those around it count
	}
	var embedded []reflect.StructField
	for f := range v.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		at := path + "." + f.Name
		isStruct := f.Anonymous && f.Type.Kind() == reflect.Struct
		isPointer := f.Anonymous && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct
		switch {
		case f.Name == "_" || f.Type.Size() == 0 || tag == "-": // nothing to lose, or lost on purpose
		case isPointer && !f.IsExported():
			l.add(at, "an embedded pointer to a struct that is not exported cannot be decoded: embed the struct")
		case name == "" && (isStruct || isPointer):
			embedded = append(embedded, f)
		case !f.IsExported() && !isStruct:
			l.add(at, "it is not exported: export it, or give %v the methods MarshalJSON and UnmarshalJSON", v.Type)
		default:
			if name == "" {
				name = f.Name
			}
			if other, used := names[name]; used {
				l.add(at, "its name in JSON, %q, is that of %s, too", name, other)
			}
			names[name] = at
			l.value(place{f.Type, v.addressable}, at)
		}
	}
	around = append(around, v.Type)
	for _, f := range embedded {
		inner := place{f.Type, v.addressable}
		if f.Type.Kind() == reflect.Pointer {
			inner = place{f.Type.Elem(), true}
		}
		l.fields(inner, path+"."+f.Name, names, around)
	}
}

// methods are those with which a type writes and reads its JSON itself.
type methods struct {
	name           string
	writer, reader reflect.Type
	method         func(reflect.Type) (reflect.Method, bool) // of writer
}

var (
	jsonMethods = methods{
		"JSON", reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
		func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("MarshalJSON") },
	}
	textMethods = methods{
		"Text", reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
		func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("MarshalText") },
	}
)

// hasMethods reports whether v writes its JSON itself, and looks whether it reads it.
func (l *losses) hasMethods(v place, path string) bool {
	if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		return false // the type inside of it decides
	}
	pointer := reflect.PointerTo(v.Type)
	for _, m := range []methods{jsonMethods, textMethods} {
		switch {
		case !pointer.Implements(m.writer):
			continue
		case !pointer.Implements(m.reader):
			l.add(path, "%v has Marshal%s, but not Unmarshal%[2]s", v.Type, m.name)
		case !v.addressable && !v.Implements(m.writer):
			l.add(path, "Marshal%s of *%v is not called for a %[2]v: use a pointer", m.name, v.Type)
		case v.Kind() == reflect.Struct && v.NumField() > 1 && m.embedded(v.Type):
			l.add(path, "Marshal%s of a type that %v embeds writes only that: give %[2]v methods of its own", m.name, v.Type)
		}
		return true
	}
	return false
}

// embedded reports whether t has the method of a type that it embeds: such methods
// are made by the compiler.
func (m methods) embedded(t reflect.Type) bool {
	f, ok := m.method(t)
	if !ok {
		f, ok = m.method(reflect.PointerTo(t))
	}
	if !ok {
		return false
	}
	at := f.Func.Pointer()
	file, _ := runtime.FuncForPC(at).FileLine(at)
	return file == "<autogenerated>"
}
