package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Nulls removes the fields of an answer that are null only because they could not be left
// out. It works on a stream: a field is held back until its value begins. Text that is
// not JSON is unchanged.
type Nulls struct {
	root json.RawMessage

	stack   []level
	held    bytes.Buffer // bytes of a field whose value has not begun
	out     strings.Builder
	state   state
	quoted  bool // in a string
	escaped bool // behind a backslash
	key     []byte
}

// level is an object or list that is open.
type level struct {
	list     bool
	items    json.RawMessage
	fields   ordered
	required []string
	kept     bool // a field has been written
	field    json.RawMessage
	may      bool // the field that is being read may be removed
}

type state int

const (
	begin   state = iota // nothing has come
	value                // a value comes
	name                 // a field's name comes, or the end of an object
	colon                // behind a name
	after                // behind a value
	literal              // in a number or word
	dropped              // in a null that is removed
	plain                // no JSON: everything passes
)

// NewNulls returns the Nulls for one answer to schema.
func NewNulls(schema json.RawMessage) *Nulls { return &Nulls{root: schema} }

// Write takes the next piece of the answer and returns the part that is decided.
func (c *Nulls) Write(text string) string {
	c.out.Reset()
	for i := range len(text) {
		c.add(text[i])
	}
	return c.out.String()
}

// Rest returns what is still held back at the end of the answer.
func (c *Nulls) Rest() string {
	rest := c.held.String()
	c.held.Reset()
	return rest
}

func (c *Nulls) add(b byte) {
	switch {
	case c.state == plain:
		c.out.WriteByte(b)
	case c.quoted:
		c.inString(b)
	case c.state == begin:
		c.first(b)
	case b == ' ' || b == '\t' || b == '\n' || b == '\r':
		if c.state == literal || c.state == dropped {
			c.state = after
		}
		c.put(b)
	default:
		c.token(b)
	}
}

// put writes b, or holds it back with the field that it belongs to.
func (c *Nulls) put(b byte) {
	if c.state == name || c.state == colon || c.held.Len() > 0 {
		c.held.WriteByte(b)
		return
	}
	c.out.WriteByte(b)
}

func (c *Nulls) first(b byte) {
	switch b {
	case ' ', '\t', '\n', '\r':
		c.out.WriteByte(b)
	case '{', '[':
		c.open(b, c.root)
	default:
		c.state = plain
		c.out.WriteByte(b)
	}
}

func (c *Nulls) inString(b byte) {
	c.put(b)
	if c.state == name {
		c.key = append(c.key, b)
	}
	switch {
	case c.escaped:
		c.escaped = false
	case b == '\\':
		c.escaped = true
	case b == '"':
		c.quoted = false
		if c.state != name {
			c.state = after
			return
		}
		c.named()
	}
}

// named sets the name of the current field.
func (c *Nulls) named() {
	l := &c.stack[len(c.stack)-1]
	var field string
	_ = json.Unmarshal(c.key, &field) // a name that is none is no field's
	l.field = l.fields.get(field)
	l.may = l.field != nil && !slices.Contains(l.required, field) && !c.nullable(l.field, references)
	c.key, c.state = c.key[:0], colon
}

func (c *Nulls) token(b byte) {
	if c.state == literal || c.state == dropped {
		if b != ',' && b != '}' && b != ']' {
			if c.state == literal {
				c.out.WriteByte(b)
			}
			return
		}
		c.state = after
	}
	switch b {
	case '{', '[':
		c.begins()
		c.open(b, c.next())
	case '}', ']':
		c.shut(b)
	case ',':
		c.comma()
	case ':':
		c.put(b)
		c.state = value
	case '"':
		if c.state == name {
			c.key = append(c.key[:0], b)
		} else {
			c.begins()
		}
		c.put(b)
		c.quoted = true
	case 'n':
		if l := len(c.stack) - 1; c.state == value && c.stack[l].may {
			c.held.Reset()
			c.state = dropped
			return
		}
		fallthrough
	default:
		c.begins()
		c.out.WriteByte(b)
		c.state = literal
	}
}

// begins writes what was held back, because its value stays.
func (c *Nulls) begins() {
	held := c.held.Bytes()
	if l := len(c.stack) - 1; l >= 0 && !c.stack[l].list {
		if !c.stack[l].kept {
			held = bytes.TrimPrefix(held, []byte(","))
		}
		c.stack[l].kept = true
		c.stack[l].may = false
	}
	c.out.Write(held)
	c.held.Reset()
	c.state = after
}

// next is the schema of the next value; nil: unknown.
func (c *Nulls) next() json.RawMessage {
	l := c.stack[len(c.stack)-1]
	if l.list {
		return l.items
	}
	return l.field
}

func (c *Nulls) open(b byte, of json.RawMessage) {
	c.out.WriteByte(b)
	s := c.shape(of)
	l := level{list: b == '[', items: s.get("items")}
	c.state = value
	if !l.list {
		l.fields, _ = objectOf(s.get("properties"))
		l.required = wordsOf(s.get("required"))
		c.state = name
	}
	c.stack = append(c.stack, l)
}

func (c *Nulls) shut(b byte) {
	c.out.Write(c.held.Bytes()) // spaces, or what is no JSON
	c.held.Reset()
	c.out.WriteByte(b)
	c.stack = c.stack[:len(c.stack)-1]
	c.state = after
	if len(c.stack) == 0 {
		c.state = plain
	}
}

func (c *Nulls) comma() {
	if l := c.stack[len(c.stack)-1]; !l.list {
		c.state = name
		c.held.WriteByte(',')
		return
	}
	c.out.WriteByte(',')
	c.state = value
}
