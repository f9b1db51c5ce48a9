package research

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/prompt"
)

// NormalURL is a web address in the form in which addresses are compared (RX15):
// scheme and host in lower case, without default port, fragment, trailing slash and
// utm_* parameters, the other parameters as they are. false: text is no http or https
// address (RX24).
func NormalURL(text string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return "", false
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", false
	}
	if port := u.Port(); port == "" || u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(strings.TrimSuffix(u.Host, ":"+port), ":")
	}
	u.Fragment, u.RawFragment = "", ""
	var query []string
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if part != "" && !strings.HasPrefix(strings.ToLower(name), "utm_") {
			query = append(query, part)
		}
	}
	u.RawQuery, u.ForceQuery = strings.Join(query, "&"), false
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u.String(), true
}

// sourcesOf are the sources that workers found: each once, the most relevant first,
// equals in the order in which they were found (R89, RX15, RX16).
func sourcesOf(research []WorkerOutput) []Source {
	sources := []Source{}
	at := map[string]int{}
	for _, o := range research {
		var f Findings
		if json.Unmarshal(o.Payload, &f) != nil {
			continue
		}
		for _, s := range f.Sources {
			s.Title, s.URL = prompt.OneLine(s.Title), strings.TrimSpace(s.URL)
			key, ok := NormalURL(s.URL)
			if !ok {
				s.URL = ""
				key = "title " + strings.ToLower(s.Title)
			}
			if i, known := at[key]; known {
				sources[i].Relevance = max(sources[i].Relevance, s.Relevance)
				if len(s.Excerpt) > len(sources[i].Excerpt) {
					sources[i].Excerpt = s.Excerpt // of somebody who has read more of it
				}
				continue
			}
			at[key] = len(sources)
			sources = append(sources, s)
		}
	}
	slices.SortStableFunc(sources, func(a, b Source) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return sources
}
