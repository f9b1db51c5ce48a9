package discussion

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// ideasWanted is the schema that ideation is asked for. Answers are read less strictly: a
// bad entry does not invalidate the others.
var ideasWanted = json.RawMessage(`{"type":"object","required":["ideas"],"additionalProperties":false,"properties":{` +
	`"ideas":{"type":"array","items":{"type":"object","required":["title","description"],"additionalProperties":false,"properties":{` +
	`"title":{"type":"string"},"description":{"type":"string"},"category":{"type":"string"}}}}}}`)

var (
	ideasIn    = listOfEntries("ideas", anyOf("title", "description", "category"))
	errNoIdeas = errors.New(`there is no JSON object with "ideas", each with a "title"`)
)

// parseIdeas reads the ideas in an answer: a JSON object with "ideas", or a bare list,
// also in a fence or inside of prose. Only Title, Description and Category are set; extra has
// the names of further fields. Ideas without a title are included; it is an error if none has
// one.
func parseIdeas(text string) (ideas []Idea, extra []string, err error) {
	items, extra, err := ideasIn.entries(text)
	if err != nil {
		return nil, nil, err
	}
	ideas = make([]Idea, len(items))
	for i, item := range items {
		ideas[i] = Idea{Title: textOf(item["title"]), Description: textOf(item["description"]), Category: textOf(item["category"])}
	}
	if !slices.ContainsFunc(ideas, func(i Idea) bool { return i.Title != "" }) {
		return nil, nil, errNoIdeas
	}
	return ideas, extra, nil
}

// textOf is a text or a number as text; "" for anything else.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

// propose lets ideation answer with ideas in JSON and adds them.
func (r *run) propose(c *orchestrator.Context, t turn) (Message, error) {
	var ideas []Idea
	t.output = ideasWanted
	t.read = func(text string) (extra []string, err error) {
		ideas, extra, err = parseIdeas(text)
		return extra, err
	}
	m, err := r.try(c, t)
	r.addIdeas(c, t.by, ideas)
	return m, err
}

// topUp asks for missing ideas after the last round.
func (r *run) topUp(c *orchestrator.Context) error {
	m := r.cfg.who(Propose)
	missing := func() int { return r.cfg.Policy.MinIdeas - len(r.out.Discussion.Ideas) }
	of := orchestrator.Working{Role: "ideas", ID: m.ID, Max: r.cfg.Policy.Attempts}
	for tries := []orchestrator.Try{r.tried(m.Agent)}; missing() > 0; tries = append(tries, r.tried(m.Agent)) {
		again, err := team.Again(r.Run, c, r.cfg.Rules.Retrier, of, tries)
		if err == nil && again.Retry {
			err = c.Sleep(again.After)
		}
		if err != nil {
			return err
		}
		if !again.Retry {
			r.Warn(c, r.Code("few-ideas"), m.ID, "there are %d ideas, want at least %d", len(r.out.Discussion.Ideas), r.cfg.Policy.MinIdeas)
			return nil
		}
		t := turn{by: m, kind: MessageType(m.Role), prompt: "topup.tmpl", number: 1, missing: missing(), agent: again.Agent, feedback: again.Feedback}
		if _, err := r.propose(c, t); err != nil {
			return err
		}
	}
	return nil
}

// addIdeas appends ideas to the discussion, except those without a title, duplicates, and
// those beyond the limit of one answer.
func (r *run) addIdeas(c *orchestrator.Context, by Member, ideas []Idea) {
	d := &r.out.Discussion
	if most := r.cfg.Bounds.IdeasPerCall; most > 0 && len(ideas) > most {
		r.Warn(c, r.Code("idea-dropped"), by.ID, "round %d: %d ideas in one answer, %d are taken", r.round, len(ideas), most)
		ideas = ideas[:most]
	}
	for _, idea := range ideas {
		idea.CreatedBy, idea.Round = by.ID, r.round
		switch same := idea.fingerprint(); {
		case idea.Title == "":
			r.Warn(c, r.Code("idea-dropped"), by.ID, "round %d: an idea without a title", r.round)
		case r.known[same]:
			r.Emit(c, EventIdeaRepeated, &Event{Idea: &idea})
		default:
			r.known[same] = true
			idea.ID = "idea-" + strconv.Itoa(len(d.Ideas)+1)
			d.Ideas = append(d.Ideas, idea)
			r.Emit(c, EventIdeaAdded, &Event{Idea: &idea})
		}
	}
}

// fingerprint is equal for ideas that differ only in case, white space and normal form.
func (i Idea) fingerprint() string {
	return fold(prompt.OneLine(i.Title) + "\n" + prompt.OneLine(i.Description))
}

// fold returns a text as titles are compared: in any case and normal form.
func fold(s string) string { return text.Fold(s) }
