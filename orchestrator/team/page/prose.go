package page

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
)

// block is a part of a text: a paragraph, a heading, code, or a list.
type block struct {
	Text  string
	Kind  string // "head", "code" or "list"; "": a paragraph
	Items []item // entries of a list
}

// item is an entry of a list: a name, a text, further entries, or several of them.
type item struct {
	Name, Text string
	Items      []item
}

// The limits of reading JSON inside of a text.
const (
	deepest = 6  // limit of lists inside each other; deeper JSON is shown as it is
	tries   = 50 // limit of places where JSON may begin
)

// prose returns the blocks of a text that may have Markdown and JSON in it. Markdown loses
// its marks, and each JSON object or list of objects becomes a list.
//
// For example, "# Head\nsee {\"a\":1}" becomes a heading, a paragraph and a list of one item.
func prose(s string) []block {
	var blocks []block
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for range tries {
		before, list, after := cutJSON(s)
		if list == nil {
			break
		}
		blocks = append(markdown(blocks, strings.TrimSuffix(strings.TrimSpace(before), "```json")), block{Kind: "list", Items: list})
		s = strings.TrimPrefix(strings.TrimSpace(after), "```")
	}
	return markdown(blocks, s)
}

// jsonStart matches the beginning of an object or of a list of objects.
var jsonStart = regexp.MustCompile(`\{\s*"|\[\s*\{\s*"`)

// cutJSON cuts a text around the first JSON object or list of objects. A nil list means
// that there is none; before is the whole text then.
func cutJSON(s string) (before string, list []item, after string) {
	for _, at := range jsonStart.FindAllStringIndex(s, tries) {
		d := json.NewDecoder(strings.NewReader(s[at[0]:]))
		var raw json.RawMessage
		if d.Decode(&raw) == nil {
			return s[:at[0]], items(raw, 0), s[at[0]+int(d.InputOffset()):]
		}
	}
	return s, nil, ""
}

// items returns the entries of an object or list, in their order.
func items(raw json.RawMessage, depth int) []item {
	d := json.NewDecoder(bytes.NewReader(raw))
	open, err := d.Token()
	if err != nil {
		return nil
	}
	var list []item
	for d.More() {
		var i item
		if open == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return list
			}
			i.Name, _ = name.(string)
			i.Name = Words(i.Name)
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return list
		}
		list = append(list, i.fill(value, depth+1))
	}
	return list
}

// fill returns i with a value. An object without a name takes its title as its name, else
// its first entry if that is a text.
func (i item) fill(value json.RawMessage, depth int) item {
	switch {
	case value[0] == '"':
		_ = json.Unmarshal(value, &i.Text) // cannot fail: value is valid JSON
	case value[0] != '{' && value[0] != '[' || depth >= deepest:
		i.Text = string(value)
	default:
		i.Items = items(value, depth)
		title := slices.IndexFunc(i.Items, func(it item) bool { return slices.Contains(titles, it.Name) })
		if title = max(title, 0); i.Name == "" && title < len(i.Items) && i.Items[title].Text != "" {
			i.Name = i.Items[title].Text
			i.Items = slices.Delete(i.Items, title, title+1)
		}
	}
	return i
}

// titles has the names of the fields that name an object.
var titles = []string{"Title", "Name", "Id", "Idea id"}

var (
	mdBullet = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*)$`)
	mdHead   = regexp.MustCompile(`^\s{0,3}#{1,6}\s+(.*?)\s*#*$`)
	mdMarks  = regexp.MustCompile("\\*\\*|__|`")
	mdLink   = regexp.MustCompile(`\[([^\]\n]+)\]\(<?https?://([^/\s)>]+)[^\s)]*\)`)
	mdEmph   = regexp.MustCompile(`(^|[\s(])\*([^\s*][^*]*)\*`)
	mdRule   = regexp.MustCompile(`^\s*([-*_]\s*){3,}$`)
)

// writer collects the blocks of a text line by line. At most one of paragraph and list has
// entries; code has them only between two fences.
type writer struct {
	blocks    []block
	paragraph []string
	list      []item
	code      []string
	inCode    bool
}

// markdown returns blocks, followed by those of a text without JSON.
func markdown(blocks []block, s string) []block {
	w := writer{blocks: blocks}
	for line := range strings.SplitSeq(s, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && w.inCode:
			w.endCode()
		case fence:
			w.flush()
			w.inCode = true
		case w.inCode:
			w.code = append(w.code, line)
		default:
			w.add(line)
		}
	}
	w.flush()
	if len(w.code) > 0 { // the last fence is missing
		w.endCode()
	}
	return w.blocks
}

// add adds a line that is not code.
func (w *writer) add(line string) {
	switch bare := strings.TrimSpace(inline(line)); {
	case bare == "" || mdRule.MatchString(line):
		w.flush()
	case mdHead.MatchString(bare):
		w.flush()
		w.blocks = append(w.blocks, block{Kind: "head", Text: mdHead.FindStringSubmatch(bare)[1]})
	case mdBullet.MatchString(bare):
		if len(w.paragraph) > 0 {
			w.flush()
		}
		w.list = append(w.list, item{Text: mdBullet.FindStringSubmatch(bare)[1]})
	case len(w.list) > 0 && strings.HasPrefix(line, " "): // the line continues the item
		w.list[len(w.list)-1].Text += " " + bare
	default:
		if len(w.list) > 0 {
			w.flush()
		}
		w.paragraph = append(w.paragraph, bare)
	}
}

// flush ends the paragraph or the list.
func (w *writer) flush() {
	if len(w.paragraph) > 0 {
		w.blocks = append(w.blocks, block{Text: strings.Join(w.paragraph, " ")})
	}
	if len(w.list) > 0 {
		w.blocks = append(w.blocks, block{Kind: "list", Items: w.list})
	}
	w.paragraph, w.list = nil, nil
}

// endCode ends the code.
func (w *writer) endCode() {
	w.blocks = append(w.blocks, block{Kind: "code", Text: strings.Join(w.code, "\n")})
	w.code, w.inCode = nil, false
}

// inline returns a line without Markdown's marks. A link becomes its text and its host,
// because pages have no links.
func inline(line string) string {
	line = mdLink.ReplaceAllString(mdMarks.ReplaceAllString(line, ""), "$1 ($2)")
	return mdEmph.ReplaceAllString(line, "$1$2")
}

const longestHeadline = 120 // limit in bytes

// headline returns the first line of a text. If all of the text is JSON, it names the
// entries instead.
func headline(s string) string {
	line := ""
	for _, b := range prose(s) {
		if b.Kind != "list" {
			line = text.OneLine(b.Text)
		} else if line == "" {
			line = text.OneLine(summary(b.Items))
			continue
		}
		if line != "" {
			break
		}
	}
	return text.Shorten(line, longestHeadline)
}

// summary names the entries of a list. A list of one entry with entries of its own names
// these, too.
func summary(list []item) string {
	if len(list) == 1 && len(list[0].Items) > 0 {
		return list[0].line() + ": " + lines(list[0].Items)
	}
	return lines(list)
}

// lines returns the entries in one line.
func lines(list []item) string {
	each := make([]string, len(list))
	for i, it := range list {
		each[i] = it.line()
	}
	return strings.Join(each, ", ")
}

// line returns the name and the text, as far as there are.
func (i item) line() string {
	return strings.TrimPrefix(strings.TrimSuffix(i.Name+": "+i.Text, ": "), ": ")
}
