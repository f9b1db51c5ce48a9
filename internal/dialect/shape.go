package dialect

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/convene-go/convene/providers"
)

// The types with a form of their own in the dialect, and that of times, which is frequent.
var (
	durations = reflect.TypeFor[time.Duration]()
	moneys    = reflect.TypeFor[providers.NanoUSD]()
	times     = reflect.TypeFor[time.Time]()
)

// The methods with which a type writes and reads its JSON itself.
var (
	writesJSON, readsJSON = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler]()
	writesText, readsText = reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shape is what is known of a type, found once.
type shape struct {
	kind       reflect.Kind
	amount     bool           // it is money or a duration
	bytes      bool           // it is a list of bytes, which is a text in JSON
	writes     bool           // its values write themselves
	writesAt   bool           // its values with an address do
	reads      bool           // its values read themselves
	readsJSON  bool           // they do so by UnmarshalJSON
	plain      reflect.Type   // type of a scalar without methods; nil: it is no scalar
	elem       *shape         // shape of what it points to or holds; nil: it holds nothing
	fields     []field        // fields of a struct
	fieldNamed map[string]int // index in fields by name
}

// shapes has the shape of each type that was asked for.
var shapes sync.Map

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) *shape {
	if found, ok := shapes.Load(t); ok {
		return found.(*shape) //nolint:errcheck // nothing else is stored
	}
	made := map[reflect.Type]*shape{}
	shapeIn(t, made)
	for t, s := range made { // whole: all that a shape refers to is finished
		shapes.LoadOrStore(t, s)
	}
	return made[t]
}

// shapeIn returns the shape of a type, which may refer to itself. made has those that were
// begun.
func shapeIn(t reflect.Type, made map[reflect.Type]*shape) *shape {
	if begun, ok := made[t]; ok {
		return begun
	}
	s := &shape{kind: t.Kind(), amount: t == durations || t == moneys, plain: basic[t.Kind()]}
	made[t] = s
	if at := reflect.PointerTo(t); !s.amount && s.kind != reflect.Interface {
		s.writes = t.Implements(writesJSON) || t.Implements(writesText)
		if s.kind != reflect.Pointer {
			s.writesAt = at.Implements(writesJSON) || at.Implements(writesText)
			s.readsJSON = at.Implements(readsJSON)
			s.reads = s.readsJSON || at.Implements(readsText)
		}
	}
	switch s.kind { //nolint:exhaustive // the others hold nothing
	case reflect.Struct:
		s.fields, s.fieldNamed = fieldsOf(t), map[string]int{}
		for i := range s.fields {
			f := &s.fields[i]
			name, _ := Encode(f.name) // a text always has a JSON form
			f.key, f.shape = string(name)+":", shapeIn(typeAt(t, f.index), made)
			s.fieldNamed[f.name] = i
		}
	case reflect.Slice, reflect.Array:
		s.bytes = isBytes(t)
		s.elem = shapeIn(t.Elem(), made)
	case reflect.Map, reflect.Pointer:
		s.elem = shapeIn(t.Elem(), made)
	}
	return s
}

// typeAt returns the type of a field of a struct.
func typeAt(t reflect.Type, index []int) reflect.Type {
	for _, i := range index {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		t = t.Field(i).Type
	}
	return t
}

// basic has the type without methods of each kind of scalar.
var basic = func() map[reflect.Kind]reflect.Type {
	all := map[reflect.Kind]reflect.Type{}
	for _, v := range []any{
		false, "", 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), uintptr(0), float32(0), 0.0,
	} {
		all[reflect.TypeOf(v).Kind()] = reflect.TypeOf(v)
	}
	return all
}()

func isBytes(t reflect.Type) bool {
	el := t.Elem()
	return el.Kind() == reflect.Uint8 && !reflect.PointerTo(el).Implements(writesJSON) && !reflect.PointerTo(el).Implements(writesText)
}
