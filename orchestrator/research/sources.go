package research

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/prompt"
)

// NormalURL is a web address in the form in which addresses are compared: with https
// and a host in lower case without "www.", without user, port 80 or 443, fragment,
// trailing slash and parameters that track visitors; letters that need no
// percent-encoding have none. false: text is no http or https address.
func NormalURL(text string) (string, bool) {
	u, ok := webURL(text)
	if !ok {
		return "", false
	}
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "" || port == "80" || port == "443" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	for strings.HasPrefix(host, "www.") && strings.Count(host, ".") > 1 {
		host = strings.TrimPrefix(host, "www.")
	}
	query := slices.DeleteFunc(strings.Split(escapeQuery(plainLetters(u.RawQuery)), "&"), func(part string) bool {
		name, _, _ := strings.Cut(strings.ToLower(part), "=")
		return part == "" || strings.HasPrefix(name, "utm_") || slices.Contains(tracking, name)
	})
	address := "https://" + host + strings.TrimRight(plainLetters(u.EscapedPath()), "/")
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	return address, true
}

// tracking are parameters that say where a visitor comes from.
var tracking = []string{
	"fbclid", "gclid", "dclid", "gbraid", "wbraid", "msclkid", "yclid", "twclid", "ttclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi",
}

// webURL reads an http or https address.
func webURL(text string) (*url.URL, bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" {
		return nil, false
	}
	scheme := strings.ToLower(u.Scheme)
	return u, scheme == "http" || scheme == "https"
}

var encoded = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// plainLetters decodes the letters, digits and marks that no address needs to encode,
// and writes the other codes in one case.
func plainLetters(s string) string {
	return encoded.ReplaceAllStringFunc(s, func(code string) string {
		if plain, err := url.PathUnescape(code); err == nil && url.QueryEscape(plain) == plain {
			return plain
		}
		return strings.ToUpper(code)
	})
}

var uncoded = regexp.MustCompile(`[^!-~]`)

// escapeQuery writes blanks, control characters and all that is not ASCII as codes:
// [url.Parse] lets them stand in a query.
func escapeQuery(s string) string { return uncoded.ReplaceAllStringFunc(s, url.PathEscape) }

// sourcesOf are the sources that workers found: each once, the most relevant first,
// equals in the order in which they were found. An address tells no user and password.
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
			if u, _ := webURL(s.URL); !ok {
				s.URL = ""
				key = "title " + strings.ToLower(s.Title)
			} else if u.User != nil {
				u.User = nil
				s.URL = u.String()
			}
			if i, known := at[key]; known {
				sources[i].Relevance = max(sources[i].Relevance, s.Relevance)
				if len(s.Excerpt) > len(sources[i].Excerpt) {
					sources[i].Excerpt = s.Excerpt // of a worker that has read more of it
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
