package answer

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/convene-go/convene/internal/text"
)

// Models add what nobody asked for, and wrap what was asked for. [Shape.Loose] reads what
// is meant all the same. It reads a value in three steps, of which the first that fits
// counts:
//
//  1. the value as [Shape.Find] reads it
//  2. the value after loosen: without fields that the schema does not have, and with
//     figures in words as numbers
//  3. the value inside of one wrapping, by steps 1 and 2
//
// What fits by step 1 anywhere in a text comes before what fits by step 2 or 3.
//
// For the type struct{A int `min:"0" max:"10"`}, {"A":"7/10","why":"x"} is {"A":7}, and
// "why" was dropped.

// The limits of the names that were dropped.
const (
	maxNames = 20 // number of names
	maxName  = 60 // bytes of one name
)

// Loose is [Shape.Find] for answers of models to what a program asks for. It returns the
// names of the fields that it dropped beside the value, in order, with the fields around
// them: "steps.why". Beyond Find it
//   - drops fields that the schema does not have. An object of which no field was asked
//     for is refused, and so are two names that differ only in case and dashes
//   - undoes one wrapping around an answer that does not fit itself: an object with a
//     single field of another name, a list of one, a string with an object or a list in it
//   - reads "x/M" and "x %" where the schema has the minimum 0 and the maximum M
//
// In an object of [FromSchema] that may have further fields these are kept.
func (s *Shape) Loose(data json.RawMessage, text string) (json.RawMessage, []string, error) {
	r := reading{Shape: s, loose: true}
	v, err := r.find(data, text)
	if err != nil {
		return nil, nil, err
	}
	return encode(v), r.names(), nil
}

// ReadLoose is [Read] of what [Shape.Loose] finds.
func ReadLoose[T any](s *Shape, data json.RawMessage, text string) (v T, dropped []string, err error) {
	r := reading{Shape: s, loose: true}
	v, err = readAs[T](&r, data, text)
	if err != nil {
		return v, nil, err
	}
	return v, r.names(), nil
}

// reading reads one answer.
type reading struct {
	*Shape

	loose   bool
	dropped []string // names of fields that were dropped, with repetitions
	path    []string // names of the fields around the value that loosen looks at
}

// names returns the names that were dropped, each once.
func (r *reading) names() []string {
	slices.Sort(r.dropped)
	all := slices.Compact(r.dropped)
	return all[:min(len(all), maxNames)]
}

// accept returns v converted. exact reports whether v fits without step 2 and 3.
func (r *reading) accept(v any) (fitted any, exact bool, err error) {
	if !r.loose {
		fitted, err = r.validate(v)
		return fitted, err == nil, err
	}
	r.dropped = nil
	inner, wrapped := r.unwrap(v)
	if wrapped {
		inner, _ = remake(inner, verbatim) // tolerate changes v in place
	}
	if fitted, exact, err = r.tolerate(v); err == nil || !wrapped {
		return fitted, exact, err
	}
	r.dropped = nil
	if fitted, _, unfit := r.tolerate(inner); unfit == nil {
		return fitted, false, nil
	}
	return nil, false, err
}

// tolerate is steps 1 and 2.
func (r *reading) tolerate(v any) (fitted any, exact bool, err error) {
	if fitted, err = r.validate(v); err == nil && !r.open {
		return fitted, true, nil
	}
	v, wrong := r.loosen(v, r.schema)
	if wrong != nil {
		return nil, false, wrong
	}
	exact = err == nil
	fitted, err = r.validate(v)
	return fitted, exact, err
}

// loosen changes v in place: it drops fields, and makes numbers of figures in words.
func (r *reading) loosen(v any, schema *jsonschema.Schema) (any, *fault) {
	schema = r.deref(schema, v)
	switch x := v.(type) {
	case string:
		if n, ok := figure(x, schema); ok && !r.holds(x, schema) && r.holds(n, schema) {
			return n, nil
		}
	case []any:
		for i := range x {
			if schema.Items == nil || schema.PrefixItems != nil {
				break
			}
			item, wrong := r.loosen(x[i], schema.Items)
			if wrong != nil {
				return nil, wrong.in(strconv.Itoa(i))
			}
			x[i] = item
		}
	case map[string]any:
		return x, r.drop(x, schema)
	}
	return v, nil
}

// drop removes the fields that the schema does not have, and loosens the others.
func (r *reading) drop(object map[string]any, schema *jsonschema.Schema) *fault {
	rename(object, schema)
	strange := unknown(object, schema)
	more := schema.AdditionalProperties
	if schema.PatternProperties == nil && (more == nil && r.open && len(schema.Properties) > 0 || refuses(more)) {
		if len(strange) > 0 && len(strange) == len(object) && len(schema.Properties) > 0 { // nothing in it was asked for
			if more != nil || len(schema.Required) > 0 { // validate says so
				return nil
			}
			return (&fault{schema: never, got: object[strange[0]]}).in(strings.Join(strange, ", "))
		}
		if name := twin(object, strange); name != "" {
			return (&fault{schema: never, got: object[name]}).in(name)
		}
		for _, name := range strange {
			delete(object, name)
			r.note(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field, known := schema.Properties[name]
		if !known && schema.PatternProperties == nil {
			field = more
		}
		if field == nil {
			continue
		}
		r.path = append(r.path, name)
		made, wrong := r.loosen(object[name], field)
		r.path = r.path[:len(r.path)-1]
		if wrong != nil {
			return wrong.in(name)
		}
		object[name] = made
	}
	return nil
}

// note keeps the name of a field that was dropped.
func (r *reading) note(name string) {
	name = text.Shorten(text.OneLine(strings.Join(append(r.path, name), ".")), maxName)
	r.dropped = append(r.dropped, name)
}

// never is the schema that nothing fits.
var never = &jsonschema.Schema{Not: &jsonschema.Schema{}}

// refuses reports whether s is the schema that nothing fits.
func refuses(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}

// twin returns the first of the strange fields whose folded name another field has, too;
// "": none.
func twin(object map[string]any, strange []string) string {
	if len(strange) == 0 {
		return ""
	}
	count := make(map[string]int, len(object))
	for name := range object {
		count[fold(name)]++
	}
	for _, name := range strange {
		if count[fold(name)] > 1 {
			return name
		}
	}
	return ""
}

// unwrap returns what is inside of a wrapping.
func (r *reading) unwrap(v any) (inner any, ok bool) {
	switch x := v.(type) {
	case []any:
		if len(x) == 1 {
			return x[0], true
		}
	case map[string]any:
		root := r.deref(r.schema, v)
		for name, inside := range x {
			if len(x) != 1 || knows(root, name) {
				return nil, false
			}
			return inside, isContainer(inside)
		}
	case string:
		inside, wrong := (&parser{text: x}).whole()
		return inside, wrong == nil && isContainer(inside)
	}
	return nil, false
}

// knows reports whether the schema has a field of that name, in whatever case.
func knows(schema *jsonschema.Schema, name string) bool {
	for known := range schema.Properties {
		if fold(known) == fold(name) {
			return true
		}
	}
	return false
}

// isContainer reports whether v is an object or a list.
func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// inWords matches a figure out of another, and one of a hundred.
var inWords = regexp.MustCompile(`^\s*([0-9][0-9.]{0,19})\s*(?:/\s*([0-9][0-9.]{0,19})|%)\s*$`)

// figure returns the number that "x/M" or "x %" means where the schema has a minimum of 0
// and a maximum of M.
func figure(words string, schema *jsonschema.Schema) (json.Number, bool) {
	if schema.Minimum == nil || schema.Maximum == nil || *schema.Minimum != 0 {
		return "", false
	}
	return Figure(words, *schema.Maximum)
}

// Figure returns the number that "x/M" or "x %" means on a scale from 0 to most, where M
// must be most. It computes exactly, and does not check that the number is on the scale.
func Figure(words string, most float64) (json.Number, bool) {
	m := inWords.FindStringSubmatch(words)
	if m == nil || !isNumber(m[1]) {
		return "", false
	}
	scale, ok := new(big.Rat).SetString(strconv.FormatFloat(most, 'g', -1, 64))
	if !ok {
		return "", false
	}
	x, _ := new(big.Rat).SetString(m[1]) // it is a number
	if m[2] == "" {
		x.Mul(x, scale.Quo(scale, big.NewRat(100, 1)))
	} else if whole, ok := new(big.Rat).SetString(m[2]); !ok || !isNumber(m[2]) || whole.Cmp(scale) != 0 {
		return "", false
	}
	digits, _ := x.FloatPrec() // exact: it is made of decimal numbers
	return json.Number(x.FloatString(digits)), true
}
