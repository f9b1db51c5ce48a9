package discussion

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// choiceWanted is the schema that the leader's choice is asked for. Answers are read less
// strictly.
var choiceWanted = json.RawMessage(`{"type":"object","required":["idea_id","reason"],"additionalProperties":false,"properties":{` +
	`"idea_id":{"type":"string"},"reason":{"type":"string"}}}`)

var (
	choiceIn    = answer.MustFromSchema(`{"type":"object","required":["idea_id"],"properties":{"idea_id":{"type":["string","integer"]},"reason":{}}}`)
	errNoChoice = errors.New(`it does not name exactly one idea: want {"idea_id":"idea-1","reason":"..."} with the ID of one of them`)
)

// choice is the leader's choice in JSON.
type choice struct {
	ID     any `json:"idea_id"` //nolint:tagliatelle // prompts call the field so
	Reason any `json:"reason"`
}

// choiceOf reads a choice in JSON; the zero value if the text has none. extra has the names of
// the fields that are left out.
func choiceOf(text string) (made choice, extra []string) {
	if found, names, err := choiceIn.Loose(nil, text); err == nil {
		_, extra = json.Unmarshal(found, &made), names // it fits the schema
	}
	return made, extra
}

// named is the one idea that the leader's text names: by the choice that it made; or by IDs and
// whole titles anywhere in it, if they all mean one idea. nil: none, or several.
func named(text string, made choice, ideas []Idea) *Idea {
	if made.ID != nil {
		if idea := byID(fmt.Sprint(made.ID), ideas); idea != nil {
			return new(*idea)
		}
	}
	if idea := byID(prompt.OneLine(text), ideas); idea != nil { // nothing but an ID
		return new(*idea)
	}
	mentions := mentioned(fold(prompt.OneLine(text)), ideas)
	if len(mentions) == 0 {
		return nil
	}
	one := slices.DeleteFunc(slices.Clone(ideas), func(idea Idea) bool {
		return slices.ContainsFunc(mentions, func(ids []string) bool { return !slices.Contains(ids, idea.ID) })
	})
	if len(one) != 1 {
		return nil
	}
	return &one[0]
}

// inProse are IDs as models write them in prose: idea-2, Idea 2, option #2, [2], #2.
var inProse = regexp.MustCompile(`(?:\b(?:idea|option|choice(?: is)?)[\s\-_#:\[*]*|#|\[)0*(\d{1,9})\b`)

// mentioned returns, for each title and ID in a folded text, the IDs of the ideas that
// it may mean.
func mentioned(text string, ideas []Idea) (all [][]string) {
	titles := map[string][]string{}
	for _, idea := range ideas {
		if title := fold(prompt.OneLine(idea.Title)); !idForm.MatchString(title) {
			titles[title] = append(titles[title], idea.ID)
		}
	}
	// Longer titles come first, and out of the text once found: "Solar" is not named by "Solar
	// roof".
	longest := make([]string, 0, len(titles))
	for title := range titles {
		longest = append(longest, title)
	}
	slices.SortFunc(longest, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, title := range longest {
		rest, found := cutTitle(text, title)
		if found {
			all, text = append(all, titles[title]), rest
		}
	}
	for _, m := range inProse.FindAllStringSubmatch(text, -1) {
		if idea := byID(m[1], ideas); idea != nil {
			all = append(all, []string{idea.ID})
		}
	}
	return all
}

// cutTitle returns a text with a newline in place of each whole title, and whether it has any.
func cutTitle(text, title string) (rest string, found bool) {
	if title == "" {
		return text, false
	}
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	var b strings.Builder
	from := 0 // all before is in b
	for at := strings.Index(text, title); at >= 0; {
		end := at + len(title)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !isWord(before) && !isWord(after) {
			b.WriteString(text[from:at])
			b.WriteByte('\n')
			from, found = end, true
		} else {
			_, size := utf8.DecodeRuneInString(text[at:])
			end = at + size
		}
		next := strings.Index(text[end:], title)
		if next < 0 {
			break
		}
		at = end + next
	}
	return b.String() + text[from:], found
}

// choiceForm is the choice in JSON.
var choiceForm = regexp.MustCompile(`\{[^{}]*"idea_id"[^{}]*\}`)

// choiceInWords returns the words about a choice: its reason, and what stands beside the JSON.
func choiceInWords(text string) string {
	made, _ := choiceOf(text)
	reason := textOf(made.Reason)
	beside := choiceForm.ReplaceAllString(unfence(text), "")
	if reason != "" && strings.Contains(beside, `"idea_id"`) { // JSON with braces in its reason
		beside = ""
	}
	return strings.TrimSpace(reason + "\n\n" + strings.TrimSpace(beside))
}
