package answer

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// field is a struct field as encoding/json sees it.
type field struct {
	name     string
	typ      reflect.Type
	tag      reflect.StructTag
	depth    int  // of embedding
	named    bool // by its tag
	optional bool
	quoted   bool
}

// fieldsOf lists the fields of a struct in order. Of fields with one name the
// least deeply embedded counts, then the one named by a tag; else none does.
func fieldsOf(t reflect.Type) []field {
	found := collect(t, 0, nil)
	hides := func(a, b field) bool { return a.depth < b.depth || a.depth == b.depth && (a.named || !b.named) }
	var kept []field
	for i, f := range found {
		hidden := false
		for j, other := range found {
			hidden = hidden || i != j && other.name == f.name && hides(other, f)
		}
		if !hidden {
			kept = append(kept, f)
		}
	}
	return kept
}

func collect(t reflect.Type, depth int, around []reflect.Type) []field {
	if slices.Contains(around, t) {
		return nil // its fields are hidden by those of the struct around it
	}
	around = append(slices.Clone(around), t)
	var list []field
	for sf := range t.Fields() {
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if sf.Anonymous {
			inner := sf.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if name == "" && inner.Kind() == reflect.Struct {
				list = append(list, collect(inner, depth+1, around)...)
				continue
			}
		}
		if !sf.IsExported() {
			continue
		}
		f := field{name: name, typ: sf.Type, tag: sf.Tag, depth: depth, named: name != ""}
		if !f.named {
			f.name = sf.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			f.optional = f.optional || option == "omitempty" || option == "omitzero"
			f.quoted = f.quoted || option == "string" && quotable(sf.Type)
		}
		list = append(list, f)
	}
	return list
}

func quotable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, err := scalar(t)
	return err == nil
}

// tagged adds to s what the tags of its field say.
func tagged(s *jsonschema.Schema, tag reflect.StructTag) error {
	if text, ok := tag.Lookup("jsonschema"); ok {
		s.Description = text
	}
	if list, ok := tag.Lookup("enum"); ok {
		if err := limit(s, list); err != nil {
			return err
		}
	}
	return errors.Join(bound(s, tag, "min", &s.Minimum), bound(s, tag, "max", &s.Maximum))
}

// bound sets one bound of a number, if the tag has it.
func bound(s *jsonschema.Schema, tag reflect.StructTag, key string, to **float64) error {
	text, ok := tag.Lookup(key)
	if !ok {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("tag %s:%q is not a number", key, text)
	}
	if !allows(s, "number") && !allows(s, "integer") {
		return fmt.Errorf("tag %s is for numbers", key)
	}
	*to = &f
	return nil
}

// limit allows only the listed strings, in s or in the list that s is.
func limit(s *jsonschema.Schema, list string) error {
	if s.Items != nil {
		s = s.Items
	}
	if !allows(s, "string") {
		return errors.New("tag enum is for strings")
	}
	for value := range strings.SplitSeq(list, ",") {
		s.Enum = append(s.Enum, strings.TrimSpace(value))
	}
	if allows(s, "null") {
		s.Enum = append(s.Enum, nil)
	}
	return nil
}
