package research

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// merge makes the outcome from the chosen iteration. An error ends the run.
func (r *run) merge(c *orchestrator.Context) error {
	it := *r.chosen()
	article, err := r.merged(c, &it)
	if err != nil {
		return err
	}
	if r.verdict == grading.Complete {
		r.out.Status = orchestrator.Completed
		if n := len(r.state.History); n > 1 {
			r.out.SystemNotes = []string{fmt.Sprintf("Generated after %d iterations to meet quality threshold.", n)}
		}
	} else {
		r.out.Status = orchestrator.Partial
		if it.score != nil && *it.score < *r.state.Input.MinQuality {
			r.warn(c, "below-target", "", "Quality %.2f below target %.2f, but %s", *it.score, *r.state.Input.MinQuality, r.because)
		}
		if r.because == maxIterations {
			r.warn(c, "max-iterations", "", "%s", sentence(maxIterations))
		}
		r.out.SystemNotes = []string{"A lower quality threshold or a larger budget may lead to a complete result."}
	}
	r.present(c, &it, article)
	r.act(c, "Merger", "create_output", map[string]any{"status": string(r.out.Status), "quality": r.state.QualityScore})
	r.machine.Fire(c, moveMerged)
	return nil
}

// present sets the article of an iteration in the outcome.
func (r *run) present(c *orchestrator.Context, it *iteration, a Article) {
	sources, read := sourcesOf(r.state.Research)
	r.out.Article, r.out.Score, r.out.Sources = &a, it.score, sources
	if want := r.state.Input.MinSources; read < want {
		r.warn(c, "few-sources", "", "%d distinct sources were found%s, want %d", read, beside(len(sources)-read), want)
	}
	quality := "it was not graded"
	if it.score != nil {
		r.state.QualityScore = *it.score
		quality = fmt.Sprintf("quality %.2f, wanted %.2f", *it.score, *r.state.Input.MinQuality)
		q := map[string]float64{"overall": *it.score}
		for _, m := range it.grade.Marks {
			q[m.Name] = m.Value
		}
		r.out.Quality = q
		if first := r.done[0].score; len(r.done) > 1 && first != nil {
			points := math.Round(grading.Round6(100**it.score - 100**first)) // halves away from zero
			r.out.Metrics.Improvement = fmt.Sprintf("%+d%% quality (%.2f → %.2f)", int(points), *first, *it.score)
		}
	}
	if it.lacks != "" {
		r.warn(c, "short", "", "there are only %s", it.lacks)
		quality += ", with only " + it.lacks
	}
	if r.out.Status != orchestrator.Completed {
		a.Content = fmt.Sprintf("> Partial result: %s; %s.\n\n%s", quality, r.because, a.Content)
		r.out.Unverified = []string{"article"}
	}
}

// beside says how many sources were not read; "": all were.
func beside(unread int) string {
	if unread == 0 {
		return ""
	}
	return fmt.Sprintf(" beside %d that were not read", unread)
}

// articleOf concatenates drafts in their order.
func articleOf(drafts []WorkerOutput) Article {
	var a Article
	var texts []string
	for _, o := range drafts {
		var d Draft
		if json.Unmarshal(o.Payload, &d) == nil {
			a.Title = cmp.Or(a.Title, d.Title)
			texts = append(texts, strings.TrimSpace(d.Content))
		}
	}
	a.Content = strings.Join(texts, "\n\n")
	a.Words = wordsIn(a.Content)
	a.ReadMinutes = readingMinutes(a.Words)
	return a
}

// readingMinutes returns the time to read a text, at 200 words a minute and at least 1 minute.
func readingMinutes(words int) int { return max(words/200, 1) }

// NormalURL returns a web address in the form in which addresses are compared. It has https
// and a host in lower case and ASCII, without "www." and a trailing dot. It has no user,
// port 80 or 443, fragment, dot segments, trailing slash, tracking parameters and needless
// percent-encoding. false: text is no http or https address.
func NormalURL(text string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	host, port := dnsName(strings.ToLower(u.Hostname())), u.Port()
	switch {
	case host == "":
		return "", false
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	if port != "" && port != "80" && port != "443" {
		port = ":" + port
	} else {
		port = ""
	}
	for strings.HasPrefix(host, "www.") && strings.Count(host, ".") > 1 {
		host = strings.TrimPrefix(host, "www.")
	}
	query := slices.DeleteFunc(strings.Split(canonical(u.RawQuery), "&"), func(part string) bool {
		name, _, _ := strings.Cut(strings.ToLower(part), "=")
		return part == "" || strings.HasPrefix(name, "utm_") || slices.Contains(tracking, name)
	})
	address := "https://" + host + port + strings.TrimRight(withoutDots(canonical(u.EscapedPath())), "/")
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	return address, true
}

// tracking are parameters that identify visitors or campaigns.
var tracking = []string{
	"fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi",
}

var coded = regexp.MustCompile(`%[0-9A-Fa-f]{2}|[^!-~]`)

// canonical decodes letters, digits and marks that need no encoding. It encodes blanks,
// control characters and all that is not ASCII, and writes codes in upper case.
func canonical(s string) string {
	return coded.ReplaceAllStringFunc(s, func(code string) string {
		if code[0] != '%' {
			return url.PathEscape(code)
		}
		if plain, err := url.PathUnescape(code); err == nil && url.QueryEscape(plain) == plain {
			return plain
		}
		return strings.ToUpper(code)
	})
}

// sourcesOf are the sources of the findings: each once, those that a worker could not read
// last, else the most relevant first, equals in the order in which they were found.
// Addresses have no user and password. read is the number of those that were read: others
// are no evidence.
func sourcesOf(research []WorkerOutput) (sources []Source, read int) {
	sources = []Source{}
	at, unread := map[string]int{}, map[string]string{} // unread: the worker that could not read it
	for _, o := range research {
		var f Findings
		if json.Unmarshal(o.Payload, &f) != nil {
			continue
		}
		for _, s := range f.Sources {
			s.Title, s.URL = prompt.OneLine(s.Title), strings.TrimSpace(s.URL)
			key, ok := NormalURL(s.URL)
			if !ok {
				s.URL, key = "", "title "+text.Fold(s.Title)
			}
			s.URL = withoutUser(s.URL)
			if i, known := at[key]; known {
				sources[i].Relevance = max(sources[i].Relevance, s.Relevance)
				longer := len(s.Excerpt) > len(sources[i].Excerpt) // its worker has read more
				if longer {
					sources[i].Excerpt = s.Excerpt
				}
				if longer || unread[key] == o.Worker {
					delete(unread, key)
				}
				continue
			}
			at[key] = len(sources)
			sources = append(sources, s)
		}
		for _, u := range f.Unread {
			if key, ok := NormalURL(u.URL); ok {
				unread[key] = o.Worker
			}
		}
	}
	return sources, sortSources(sources, unread)
}

// sortSources sorts by relevance; the sources that a worker could not read stand last. It
// returns the number of the others.
func sortSources(sources []Source, unread map[string]string) (read int) {
	last := func(s Source) int {
		if key, _ := NormalURL(s.URL); unread[key] != "" {
			return 1
		}
		return 0
	}
	for _, s := range sources {
		read += 1 - last(s)
	}
	slices.SortStableFunc(sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(b.Relevance, a.Relevance))
	})
	return read
}
