package dialect

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// The functions here read JSON that is known to be valid, and allocate nothing.

// members yields the members of an object, or the elements of a list with empty names.
// Both are parts of data: names are as JSON writes them.
func members(data []byte) iter.Seq2[[]byte, []byte] {
	named := data[0] == '{'
	return func(yield func(name, value []byte) bool) {
		for i := space(data, 1); data[i] != '}' && data[i] != ']'; {
			var name []byte
			if named {
				end := valueEnd(data, i)
				name = data[i:end]
				i = space(data, space(data, end)+1) // the colon
			}
			end := valueEnd(data, i)
			if !yield(name, data[i:end]) {
				return
			}
			if i = space(data, end); data[i] == ',' {
				i = space(data, i+1)
			}
		}
	}
}

// space returns the index of what follows the white space at i.
func space(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r' {
		i++
	}
	return i
}

// valueEnd returns the index after the value at i.
func valueEnd(data []byte, i int) int {
	switch data[i] {
	case '"':
		return textEnd(data, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch data[i] {
			case '"':
				i = textEnd(data, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(data) && data[i] != ',' && data[i] != '}' && data[i] != ']' && data[i] > ' ' {
		i++
	}
	return i
}

// textEnd returns the index after the text at i.
func textEnd(data []byte, i int) int {
	for i++; ; {
		quote := bytes.IndexByte(data[i:], '"')
		if escape := bytes.IndexByte(data[i:i+quote], '\\'); escape >= 0 {
			i += escape + 2
			continue
		}
		return i + quote + 1
	}
}

// textOf returns the text that data is, false if it is none.
func textOf(data []byte) (string, bool) {
	if data[0] != '"' {
		return "", false
	}
	inner := data[1 : len(data)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	var text string
	return text, json.Unmarshal(data, &text) == nil
}
