package orchestrator

import (
	"cmp"
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
// the tag json:"-" is left out on purpose. Results are kept by type.
func checkJSON(t reflect.Type, what string) error {
	kept, ok := checkedTypes.Load(t)
	if !ok {
		l := losses{seen: map[reflect.Type]bool{}}
		l.value(t, t.String())
		kept, _ = checkedTypes.LoadOrStore(t, errors.Join(l.list...))
	}
	if err, lost := kept.(error); lost {
		return fmt.Errorf("%s does not survive JSON: %w", what, err)
	}
	return nil
}

// checkedTypes has the error of each reflect.Type that was checked, or nil.
var checkedTypes sync.Map

// losses collects what JSON loses. What is encoded is addressable, as methods of
// pointers want it, but for what is in a map.
type losses struct {
	list []error
	seen map[reflect.Type]bool
}

func (l *losses) add(path, format string, args ...any) {
	l.list = append(l.list, fmt.Errorf(path+": "+format, args...))
}

// value looks at a type, which is used at path.
func (l *losses) value(t reflect.Type, path string) {
	if l.seen[t] || l.hasMethods(t, path) {
		return
	}
	l.seen[t] = true
	switch t.Kind() { //nolint:exhaustive // all others are scalars
	case reflect.Pointer:
		l.value(t.Elem(), path)
	case reflect.Slice, reflect.Array:
		l.value(t.Elem(), path+"[]")
	case reflect.Map:
		key, value := t.Key(), t.Elem()
		plain := key.Kind() == reflect.String || key.Kind() >= reflect.Int && key.Kind() <= reflect.Uintptr
		if !plain && (!key.Implements(writesText) || !reflect.PointerTo(key).Implements(readsText)) {
			l.add(path, "%v cannot be a key in JSON: want a string, an integer, or a type with MarshalText and UnmarshalText", key)
		}
		if !value.Implements(writesJSON) && reflect.PointerTo(value).Implements(writesJSON) {
			l.add(path, "MarshalJSON of *%v is not called for a %[1]v in a map: use a pointer", value)
		}
		l.value(value, path+"[]")
	case reflect.Struct:
		l.fields(t, path, map[string]string{}, nil)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			l.add(path, "an interface with methods (%v) cannot be decoded: want another type", t)
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		l.add(path, "a %v has no JSON form", t)
	}
}

// The methods with which a type writes and reads its JSON itself.
var (
	writesJSON, readsJSON = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()
	writesText, readsText = reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()
)

// fields looks at the fields of a struct. names has the path of each JSON name that
// is used, around the structs that embed this one.
func (l *losses) fields(t reflect.Type, path string, names map[string]string, around []reflect.Type) {
	if slices.Contains(around, t) {
		return // it embeds itself: those around it count
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner, at := f.Type, path+"."+f.Name
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && inner.Kind() == reflect.Struct
		switch {
		case f.Name == "_" || f.Type.Size() == 0 || f.Tag.Get("json") == "-": // nothing to lose, or lost on purpose
		case !f.IsExported() && (!embedded || inner != f.Type):
			l.add(at, "it is not exported: export it, or give %v the methods MarshalJSON and UnmarshalJSON", t)
		case embedded && name == "":
			l.fields(inner, at, names, append(around, t))
		default:
			name = cmp.Or(name, f.Name)
			if other, used := names[name]; used {
				l.add(at, "its name in JSON, %q, is that of %s, too", name, other)
			}
			names[name] = at
			l.value(f.Type, at)
		}
	}
}

// hasMethods reports whether t writes its JSON itself, and looks whether it reads it.
func (l *losses) hasMethods(t reflect.Type, path string) bool {
	form, reads := "JSON", readsJSON
	method := func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("MarshalJSON") }
	if !reflect.PointerTo(t).Implements(writesJSON) {
		form, reads = "Text", readsText
		method = func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("MarshalText") }
	}
	writes, ok := method(t)
	if !ok {
		writes, ok = method(reflect.PointerTo(t))
	}
	if !ok || t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return false // or the type inside of it decides
	}
	at := writes.Func.Pointer()
	file, _ := runtime.FuncForPC(at).FileLine(at)
	switch {
	case !reflect.PointerTo(t).Implements(reads):
		l.add(path, "%v has Marshal%s, but not Unmarshal%[2]s", t, form)
	case t.Kind() == reflect.Struct && t.NumField() > 1 && file == "<autogenerated>": // the compiler made it
		l.add(path, "Marshal%s of a type that %v embeds writes only that: give %[2]v methods of its own", form, t)
	}
	return true
}
