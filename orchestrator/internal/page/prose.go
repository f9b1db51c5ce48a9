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
	Kind  string // "": a paragraph; "head", "code", "list"
	Items []item
}

// item is an entry of a list.
type item struct {
	Name, Text string
	Items      []item
}

// The limits of what is shown of JSON inside of a text.
const (
	deepest = 6  // lists inside each other; below, JSON stays as it is
	tries   = 50 // places where JSON may begin
)

// prose makes blocks of a text: paragraphs, of Markdown headings, lists and code without
// their marks, of JSON lists.
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

// jsonStart is where an object or a list of objects may begin.
var jsonStart = regexp.MustCompile(`\{\s*"|\[\s*\{\s*"`)

// cutJSON finds the first JSON object or list of objects in a text; nil: there is none.
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

// items are the entries of an object or list, in their order.
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

// fill puts a value into an entry. An object without a name gets that of its title, or of
// its first text.
func (i item) fill(value json.RawMessage, depth int) item {
	switch {
	case value[0] == '"':
		_ = json.Unmarshal(value, &i.Text) // it was decoded before
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

// titles are the names under which objects have their own.
var titles = []string{"Title", "Name", "Id", "Idea id"}

var (
	mdBullet = regexp.MustCompile(`^\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*)$`)
	mdHead   = regexp.MustCompile(`^\s{0,3}#{1,6}\s+(.*?)\s*#*$`)
	mdMarks  = regexp.MustCompile("\\*\\*|__|`")
	mdLink   = regexp.MustCompile(`\[([^\]\n]+)\]\(<?https?://([^/\s)>]+)[^\s)]*\)`)
	mdEmph   = regexp.MustCompile(`(^|[\s(])\*([^\s*][^*]*)\*`)
	mdRule   = regexp.MustCompile(`^\s*([-*_]\s*){3,}$`)
)

// markdown appends the blocks of a text without JSON.
func markdown(blocks []block, s string) []block {
	var paragraph, code []string
	inCode, item0 := false, []item(nil)
	flush := func() {
		if len(paragraph) > 0 {
			blocks = append(blocks, block{Text: strings.Join(paragraph, " ")})
		}
		if len(item0) > 0 {
			blocks = append(blocks, block{Kind: "list", Items: item0})
		}
		paragraph, item0 = nil, nil
	}
	for line := range strings.SplitSeq(s, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		switch bare := strings.TrimSpace(inline(line)); {
		case fence && inCode:
			blocks, code, inCode = append(blocks, block{Kind: "code", Text: strings.Join(code, "\n")}), nil, false
		case fence:
			flush()
			inCode = true
		case inCode:
			code = append(code, line)
		case bare == "" || mdRule.MatchString(line):
			flush()
		case mdHead.MatchString(bare):
			flush()
			blocks = append(blocks, block{Kind: "head", Text: mdHead.FindStringSubmatch(bare)[1]})
		case mdBullet.MatchString(bare):
			if len(paragraph) > 0 {
				flush()
			}
			item0 = append(item0, item{Text: mdBullet.FindStringSubmatch(bare)[1]})
		case len(item0) > 0 && strings.HasPrefix(line, " "): // continues the item
			item0[len(item0)-1].Text += " " + bare
		default:
			if len(item0) > 0 {
				flush()
			}
			paragraph = append(paragraph, bare)
		}
	}
	flush()
	if len(code) > 0 { // its end is missing
		blocks = append(blocks, block{Kind: "code", Text: strings.Join(code, "\n")})
	}
	return blocks
}

// inline takes the marks out of a line. Of a link it keeps the text and the host: pages
// have no links.
func inline(line string) string {
	line = mdLink.ReplaceAllString(mdMarks.ReplaceAllString(line, ""), "$1 ($2)")
	return mdEmph.ReplaceAllString(line, "$1$2")
}

const longestHeadline = 120 // bytes

// headline is the first line of a text; of one that is JSON alone, what is in it.
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

// summary names the entries of a list, and if it is one alone, those in it.
func summary(list []item) string {
	names := make([]string, len(list))
	for i, it := range list {
		names[i] = strings.TrimPrefix(strings.TrimSuffix(it.Name+": "+it.Text, ": "), ": ")
	}
	if len(list) == 1 && len(list[0].Items) > 0 {
		for _, it := range list[0].Items {
			names = append(names, strings.TrimPrefix(strings.TrimSuffix(it.Name+": "+it.Text, ": "), ": "))
		}
		return names[0] + ": " + strings.Join(names[1:], ", ")
	}
	return strings.Join(names, ", ")
}
