package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
	"github.com/convene-go/convene/orchestrator/research"
)

const (
	wantedKinds  = 3  // of sources
	easySentence = 25 // words that a sentence may have
)

// result is the input of a supervisor.
type result struct {
	Brief    research.Brief          `json:"brief"`
	Research []research.WorkerOutput `json:"research"`
	Writing  []research.WorkerOutput `json:"writing"`
	Quality  []research.WorkerOutput `json:"quality"`
	Words    int                     `json:"word_count"`
	Sources  int                     `json:"source_count"`
}

// answer is what a supervisor says.
type answer struct {
	facets
	Feedback string   `json:"feedback,omitempty"`
	Issues   []string `json:"issues,omitempty"`
}

// judge is the rule of the supervisor: every mark is a computed check.
func judge(r result, words []string) any {
	found, text := r.sources(), r.text()
	kindsFound := map[string]bool{}
	byURL := map[string]research.Source{}
	for _, s := range found {
		kindsFound[s.Kind] = true
		byURL[s.URL] = s
	}
	cited, known := 0, 0
	for _, url := range links(text) {
		cited++
		if _, ok := byURL[url]; ok {
			known++
		}
	}
	sections := len(words) - len(rehearsal.Missing(words, headings(text)))
	supported := supportedClaims(text, byURL, words, found)
	m := answer{
		facets: facets{
			Article: articleQuality(share{part: sections, whole: len(words)}, share{part: r.Words, whole: r.Brief.Length}, parts(text)),
			Source: sourceQuality(share{part: r.Sources, whole: r.Brief.MinSources},
				share{part: len(kindsFound), whole: wantedKinds}, share{part: known, whole: cited}),
			Factual: factualQuality(supported, 0, len(claims(text))),
			Writing: writingQuality(variety(text), readability(text), edited(r.Quality)),
		},
		Feedback: rehearsal.Label + " marks from checks",
	}
	for _, lack := range []struct {
		there bool
		text  string
	}{
		{r.Sources < r.Brief.MinSources, fmt.Sprintf("more research: %d sources, want %d", r.Sources, r.Brief.MinSources)},
		{len(kindsFound) < wantedKinds, fmt.Sprintf("other kinds of sources: %d, want %d", len(kindsFound), wantedKinds)},
		{r.Words < r.Brief.Length, fmt.Sprintf("more depth: %d words, want %d", r.Words, r.Brief.Length)},
		{supported < len(claims(text)), fmt.Sprintf("%d of %d claims have no second kind of source", len(claims(text))-supported, len(claims(text)))},
	} {
		if lack.there {
			m.Issues = append(m.Issues, lack.text)
		}
	}
	return m
}

func (r result) sources() []research.Source {
	inputs := map[string]json.RawMessage{}
	for i, o := range r.Research {
		inputs[fmt.Sprintf("%06d", i)] = o.Payload
	}
	return sources(inputs)
}

func (r result) text() string {
	var texts []string
	for _, o := range r.Writing {
		var d research.Draft
		if json.Unmarshal(o.Payload, &d) == nil {
			texts = append(texts, d.Content)
		}
	}
	return strings.Join(texts, "\n\n")
}

var link = regexp.MustCompile(`\]\((https?://[^)\s]+)\)`)

// links are the addresses that a text links.
func links(text string) []string {
	var urls []string
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		urls = append(urls, m[1])
	}
	return urls
}

// headings are the headings of a text, line by line.
func headings(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// parts are how many of introduction, body and conclusion a text has.
func parts(text string) int {
	n, heads := 0, headings(text)
	if strings.Contains(heads, "Introduction") {
		n++
	}
	if strings.Contains(heads, "Conclusion") {
		n++
	}
	if strings.Count(heads, "\n") > n {
		n++
	}
	return n
}

// claims are the paragraphs of a text between introduction and conclusion.
func claims(text string) []string {
	var all []string
	heading := ""
	for p := range strings.SplitSeq(text, "\n\n") {
		p = strings.TrimSpace(p)
		switch {
		case strings.HasPrefix(p, "#"):
			heading = p
		case p != "" && heading != "" && !strings.Contains(heading, "Introduction") && !strings.Contains(heading, "Conclusion"):
			all = append(all, p)
		}
	}
	return all
}

// supportedClaims counts the claims that link a known source and have a word that two
// kinds of sources have, too.
func supportedClaims(text string, byURL map[string]research.Source, words []string, found []research.Source) int {
	n := 0
	for _, claim := range claims(text) {
		for _, url := range links(claim) {
			if _, ok := byURL[url]; ok && twoKinds(claim, words, found) {
				n++
				break
			}
		}
	}
	return n
}

func twoKinds(claim string, words []string, found []research.Source) bool {
	have := rehearsal.Set(claim)
	for _, w := range words {
		kindsOf := map[string]bool{}
		for _, s := range about(w, found) {
			kindsOf[s.Kind] = true
		}
		if have[strings.ToLower(w)] && len(kindsOf) > 1 {
			return true
		}
	}
	return false
}

func sentences(text string) []string {
	var all []string
	for s := range strings.SplitAfterSeq(strings.Join(strings.Fields(text), " "), ". ") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// variety is the share of sentences that differ from all others, 0 to 1.
func variety(text string) float64 {
	seen := map[string]bool{}
	said := sentences(text)
	for _, s := range said {
		seen[strings.ToLower(s)] = true
	}
	return rehearsal.Ratio(len(seen), len(said))
}

// readability is the share of sentences that are not too long, 0 to 1.
func readability(text string) float64 {
	easy, said := 0, sentences(text)
	for _, s := range said {
		if len(strings.Fields(s)) <= easySentence {
			easy++
		}
	}
	return rehearsal.Ratio(easy, len(said))
}

// edited is 1 if an editor has seen the text, else 0.5.
func edited(checks []research.WorkerOutput) float64 {
	for _, o := range checks {
		if o.Worker == "editor" {
			return 1
		}
	}
	return 0.5
}
