package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// ordered is a JSON object in the order of its fields, which is the order in which
// a model fills them in.
type ordered []member

type member struct {
	name  string
	value json.RawMessage
}

// objectOf reads an object, and says whether data is one.
func objectOf(data json.RawMessage) (ordered, bool) {
	in := json.NewDecoder(bytes.NewReader(data))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	o := ordered{}
	for in.More() {
		t, err := in.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, false
		}
		var value json.RawMessage
		if in.Decode(&value) != nil {
			return nil, false
		}
		o = append(o, member{name, value})
	}
	return o, true
}

// get returns the value of a field, nil if there is none.
func (o ordered) get(name string) json.RawMessage {
	if i := o.find(name); i >= 0 {
		return o[i].value
	}
	return nil
}

func (o ordered) find(name string) int {
	return slices.IndexFunc(o, func(m member) bool { return m.name == name })
}

// with returns o with a field set to a value that has a JSON form.
func (o ordered) with(name string, value any) ordered {
	data := written(value)
	if i := o.find(name); i >= 0 {
		o = slices.Clone(o)
		o[i].value = data
		return o
	}
	return append(slices.Clip(o), member{name, data})
}

// MarshalJSON writes the fields in their order.
func (o ordered) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(m.value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// listOf reads a list, nil if data is none.
func listOf(data json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	return list
}

// wordsOf reads a text or a list of texts, nil if data is neither.
func wordsOf(data json.RawMessage) []string {
	var word string
	if json.Unmarshal(data, &word) == nil && isSet(data) {
		return []string{word}
	}
	var words []string
	if json.Unmarshal(data, &words) != nil {
		return nil
	}
	return words
}

// isSet says whether data holds a value that is not null.
func isSet(data json.RawMessage) bool { return len(data) > 0 && string(data) != "null" }

// Merge returns body with patch merged over it, both of them objects: objects field
// by field, null removes a field, anything else replaces the old value.
func Merge(body, patch json.RawMessage) (json.RawMessage, error) {
	b, ok := objectOf(body)
	p, patched := objectOf(patch)
	if !ok || !patched {
		return nil, errors.New("merge: not an object")
	}
	for _, m := range p {
		i := b.find(m.name)
		switch {
		case !isSet(m.value):
			if i >= 0 {
				b = slices.Delete(b, i, i+1)
			}
			continue
		case i >= 0 && m.value[0] == '{' && len(b[i].value) > 0 && b[i].value[0] == '{':
			inner, err := Merge(b[i].value, m.value)
			if err != nil {
				return nil, err
			}
			m.value = inner
		}
		if i >= 0 {
			b[i].value = m.value
		} else {
			b = append(b, m)
		}
	}
	return json.Marshal(b)
}
