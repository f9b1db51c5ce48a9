package team

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// Encode returns the JSON form of a Config or of one of its groups, which is a struct. Each
// of its fields has a json tag.
//
// It is that of encoding/json, but a duration is a text such as "5m0s", and money is a
// decimal number of USD. In both, -1 is orchestrator.None. A struct without a duration or
// money of its own needs no MarshalJSON.
func Encode(group any) ([]byte, error) {
	v := reflect.ValueOf(group)
	fields := make([]reflect.StructField, v.NumField())
	for i := range fields {
		fields[i] = v.Type().Field(i)
		fields[i].Type = shadow(fields[i].Type)
	}
	out := reflect.New(reflect.StructOf(fields)).Elem()
	for i := range fields {
		out.Field(i).Set(v.Field(i).Convert(fields[i].Type))
	}
	return json.Marshal(out.Interface())
}

// Decode reads what Encode has written into group, a pointer to the struct. A duration may
// also be a number of seconds. Fields that data does not mention stay as they are.
//
// One error has all faults, unknown fields among them, each with the path of its field.
// Structs in group need no UnmarshalJSON for that.
func Decode(data []byte, group any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return misfit(err)
	}
	var all misfits
	v := reflect.ValueOf(group).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if raw, ok := members[name]; ok && name != "-" {
			delete(members, name)
			all = all.add(name, decode(raw, v.Field(i)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		all = all.add(name, misfits{{what: "is unknown"}})
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// decode reads data into a field. It reads the fields of a group and the elements of a list
// one by one, so that it finds all faults and their paths.
func decode(data []byte, field reflect.Value) error {
	if _, own := reflect.TypeAssert[json.Unmarshaler](field.Addr()); field.Kind() == reflect.Struct && !own {
		return Decode(data, field.Addr().Interface())
	}
	if field.Kind() != reflect.Slice || field.Type().Elem().Kind() != reflect.Struct {
		read := reflect.New(shadow(field.Type()))
		read.Elem().Set(field.Convert(read.Type().Elem()))
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(read.Interface()); err != nil {
			return misfit(err)
		}
		field.Set(read.Elem().Convert(field.Type()))
		return nil
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(data, &elements); err != nil {
		return misfit(err)
	}
	var all misfits
	list := reflect.MakeSlice(field.Type(), len(elements), len(elements))
	for i, element := range elements {
		all = all.add("["+strconv.Itoa(i)+"]", decode(element, list.Index(i)))
	}
	if len(all) > 0 {
		return all
	}
	if elements != nil {
		field.Set(list)
	}
	return nil
}

// misfits has the faults of a JSON text, each with the path of its field.
type misfits []struct{ path, what string }

func (m misfits) Error() string {
	lines := make([]string, len(m))
	for i, f := range m {
		lines[i] = strings.TrimSpace(f.path + " " + f.what)
	}
	return strings.Join(lines, "\n")
}

// add returns m with the faults in err, which is of the part of that name. Nil adds none.
func (m misfits) add(name string, err error) misfits {
	inner, _ := errors.AsType[misfits](err)
	for _, f := range inner {
		f.path = strings.TrimSuffix(strings.ReplaceAll(name+"."+f.path, ".[", "["), ".")
		m = append(m, f)
	}
	return m
}

// misfit returns an error of encoding/json in our words.
func misfit(err error) error {
	if found, ok := errors.AsType[misfits](err); ok {
		return found
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return misfits{{t.Field, fmt.Sprintf("is a JSON %s, want %s", t.Value, plain(t.Type))}}
	}
	what := strings.TrimPrefix(err.Error(), "json: ")
	if name, ok := strings.CutPrefix(what, "unknown field "); ok {
		return misfits{{strings.Trim(name, "\""), "is unknown"}}
	}
	return misfits{{"", "is no JSON: " + what}}
}

// plain returns the name that JSON has for a type.
func plain(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // the rest are numbers
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Bool:
		return "a bool"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	default:
		return "a number"
	}
}

// shadow returns the type that stands for t in JSON: it has the methods that t lacks.
func shadow(t reflect.Type) reflect.Type {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return reflect.TypeFor[duration]()
	case reflect.TypeFor[providers.NanoUSD]():
		return reflect.TypeFor[money]()
	default:
		return t
	}
}

type duration time.Duration

func (d duration) MarshalJSON() ([]byte, error) {
	if d == orchestrator.None {
		return none, nil
	}
	return json.Marshal(time.Duration(d).String())
}

// none is the JSON of orchestrator.None as a duration or money.
var none = []byte("-1")

// UnmarshalJSON reads a text such as "5m", a number of seconds, or -1 for None.
func (d *duration) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, none) {
		*d = orchestrator.None
		return nil
	}
	text := string(data)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	} else {
		text += "s"
	}
	read, err := time.ParseDuration(text)
	if err != nil {
		return misfits{{what: fmt.Sprintf("is %.40s, want a duration such as \"5m\", or a number of seconds", data)}}
	}
	*d = duration(read)
	return nil
}

type money providers.NanoUSD

func (m money) MarshalJSON() ([]byte, error) {
	switch m {
	case orchestrator.None:
		return none, nil
	case money(-providers.USD): // -1 USD must not read as None
		return []byte("-1.0"), nil
	}
	text := new(big.Rat).SetFrac64(int64(m), int64(providers.USD)).FloatString(9)
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

// UnmarshalJSON reads a decimal number of USD, exactly, or -1 for None.
func (m *money) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, none) {
		*m = orchestrator.None
		return nil
	}
	amount, ok := new(big.Rat).SetString(string(data))
	if ok {
		amount.Mul(amount, new(big.Rat).SetInt64(int64(providers.USD)))
	}
	if !ok || !amount.IsInt() || !amount.Num().IsInt64() {
		return misfits{{what: fmt.Sprintf("is %.40s, want USD with at most 9 decimals", data)}}
	}
	*m = money(amount.Num().Int64())
	return nil
}
