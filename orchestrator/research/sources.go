package research

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// NormalURL is a web address in the form in which addresses are compared: with https
// and a host in lower case without "www.", without user, port 80 or 443, fragment,
// trailing slash and tracking parameters, and without needless percent-encoding. false:
// text is no http or https address.
func NormalURL(text string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "" || port == "80" || port == "443" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	for strings.HasPrefix(host, "www.") && strings.Count(host, ".") > 1 {
		host = strings.TrimPrefix(host, "www.")
	}
	query := slices.DeleteFunc(strings.Split(canonical(u.RawQuery), "&"), func(part string) bool {
		name, _, _ := strings.Cut(strings.ToLower(part), "=")
		return part == "" || strings.HasPrefix(name, "utm_") || slices.Contains(tracking, name)
	})
	address := "https://" + host + strings.TrimRight(canonical(u.EscapedPath()), "/")
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

// canonical decodes letters, digits and marks that need no encoding, encodes blanks,
// control characters and all that is not ASCII, which [url.Parse] allows in a query, and
// writes codes in one case.
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

// sourcesOf are the sources of the findings: each once, the most relevant first, equals in
// the order in which they were found. Addresses have no user and password.
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
				s.URL, key = "", "title "+strings.ToLower(s.Title)
			} else if u, err := url.Parse(s.URL); err == nil && u.User != nil {
				u.User = nil
				s.URL = u.String()
			}
			if i, known := at[key]; known {
				sources[i].Relevance = max(sources[i].Relevance, s.Relevance)
				if len(s.Excerpt) > len(sources[i].Excerpt) {
					sources[i].Excerpt = s.Excerpt // the longest: its worker has read most
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
