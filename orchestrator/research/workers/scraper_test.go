package workers_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/research/workers"
)

func TestNewWebScraper(t *testing.T) {
	_, err := workers.NewWebScraper(workers.ScraperConfig{
		Access: workers.Access{AllowPrivate: []netip.Prefix{here, {}}}, UserAgent: "a\r\nX-Evil: b",
		Limits: workers.ScraperLimits{Pages: -1, Parallel: -1, PageBytes: -1, PDFBytes: -1, PageText: -1, PageTime: -1, TotalTime: -1},
	})
	for _, want := range []string{
		"web scraper: ", "Access.AllowPrivate[1]", "UserAgent", "Limits.Pages", "Limits.Parallel", "Limits.PageBytes", "Limits.PDFBytes", "Limits.PageText",
		"Limits.PageTime", "Limits.TotalTime",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = workers.NewWebScraper(workers.ScraperConfig{Limits: workers.ScraperLimits{PageBytes: 1 << 40}})
	require.ErrorContains(t, err, "at most 64 MiB")
	_, err = workers.NewWebScraper(workers.ScraperConfig{UserAgent: "*"})
	require.ErrorContains(t, err, "UserAgent")
}

// web answers like the pages of all sites; those that are not there are a 404.
func web(pages site) *http.Client {
	return client(func(r *http.Request) (*http.Response, error) {
		text, ok := pages[strings.ToLower(r.URL.Hostname())+cmp.Or(r.URL.Path, "/")]
		if !ok {
			return reply(http.StatusNotFound, "text/html", ""), nil
		}
		return reply(http.StatusOK, "text/html", text), nil
	})
}

func TestScrape(t *testing.T) {
	pages := site{
		"a.example/one": page("One"), "a.example/two": page("Two"), "b.example/": page("Three"), "c.example/": page("Four"),
		"d.example/": "<p>A page that has no title, but some words.",
	}
	w := scraperOf(t, workers.ScraperConfig{Client: web(pages)})
	t.Run("which pages, in which order", func(t *testing.T) {
		resp, err := w.Call(t.Context(), work(research.WorkerInput{
			WorkerID: "web_scraper",
			Brief:    research.Brief{Topic: "Numbers", PreferredSources: []string{"academic", " https://c.example/ ", "http://b.example"}},
			Inputs: map[string]json.RawMessage{
				"web_search": found(
					research.Source{Title: "1", URL: "https://a.example/one", Relevance: 0.2, Kind: "news"},
					research.Source{Title: "2", URL: "https://a.example/two", Relevance: 0.9},
					research.Source{Title: "a book"},
					research.Source{Title: "not of the web", URL: "file:///etc/passwd"},
				),
				"news_search":         found(research.Source{Title: "4", URL: "HTTPS://A.example:443/one/?utm_source=x#top", Relevance: 0.3}, research.Source{Title: "No name", URL: "https://d.example"}),
				"content_synthesizer": json.RawMessage(`{"text":"other"}`),
				"article_writer":      json.RawMessage(`"sources"`),
			},
		}))
		require.NoError(t, err)
		f := findingsOf(t, resp)
		text := "A sentence about %s, with commas, and long enough to be read."
		assert.Equal(t, research.Findings{
			Sources: []research.Source{
				{Title: "Four", URL: "https://c.example/", Kind: "web", Relevance: 1, Excerpt: fmt.Sprintf(text, "Four")},
				{Title: "Three", URL: "http://b.example", Kind: "web", Relevance: 1, Excerpt: fmt.Sprintf(text, "Three")},
				{Title: "Two", URL: "https://a.example/two", Kind: "web", Relevance: 0.9, Excerpt: fmt.Sprintf(text, "Two")},
				{Title: "No name", URL: "https://d.example", Kind: "web", Excerpt: "A page that has no title, but some words."},
			},
			Summary: "Read 4 of 5 pages. Not read: HTTPS://A.example:443/one/?utm_source=x#top: status 404 Not Found",
			Unread:  []research.Unread{{URL: "HTTPS://A.example:443/one/?utm_source=x#top", Reason: "status 404 Not Found"}},
		}, f, "news_search comes before web_search, but relevance counts")
	})
	t.Run("none that it has read before", func(t *testing.T) {
		in := research.WorkerInput{WorkerID: "web_scraper", Inputs: map[string]json.RawMessage{
			"web_search":    found(research.Source{URL: "https://a.example/one"}, research.Source{URL: "https://a.example/two"}, research.Source{URL: "https://b.example"}),
			"web_scraper":   found(research.Source{URL: "https://a.example/one"}),
			"web_scraper#2": found(research.Source{URL: "https://b.example/"}),
		}}
		resp, err := w.Call(t.Context(), work(in))
		require.NoError(t, err)
		assert.Equal(t, []string{"Two"}, titles(findingsOf(t, resp)))
		in.Inputs["web_scraper#3"] = found(research.Source{URL: "https://a.example/two"})
		resp, err = w.Call(t.Context(), work(in))
		require.NoError(t, err, "it has nothing to add")
		assert.Equal(t, `{"sources":[],"summary":"Read 0 of 0 pages."}`, string(resp.Data))
	})
	t.Run("so many", func(t *testing.T) {
		few := scraperOf(t, workers.ScraperConfig{Client: web(pages), Limits: workers.ScraperLimits{Pages: 2}})
		resp, err := few.Call(t.Context(), work(research.WorkerInput{Inputs: map[string]json.RawMessage{
			"x": found(research.Source{URL: "https://a.example/one"}, research.Source{URL: "https://a.example/two", Relevance: 0.1}, research.Source{URL: "https://b.example", Relevance: 0.2}),
		}}))
		require.NoError(t, err)
		assert.Equal(t, []string{"Three", "Two"}, titles(findingsOf(t, resp)))
	})
	t.Run("a relevance that is none", func(t *testing.T) {
		resp, err := w.Call(t.Context(), work(research.WorkerInput{Inputs: map[string]json.RawMessage{"x": found(research.Source{URL: "https://b.example", Relevance: 7})}}))
		require.NoError(t, err)
		assert.Zero(t, findingsOf(t, resp).Sources[0].Relevance)
	})
	t.Run("no address", func(t *testing.T) {
		_, err := w.Call(t.Context(), work(research.WorkerInput{Brief: research.Brief{PreferredSources: []string{"academic", "mailto:a@example.com"}}}))
		isFinal(t, err)
		require.ErrorIs(t, err, workers.ErrNothing)
	})
	t.Run("no input", func(t *testing.T) {
		for _, in := range []string{"", "[]", `{"brief":1}`} {
			_, err := w.Call(t.Context(), agent.Request{Input: json.RawMessage(in)})
			isFinal(t, err)
			require.ErrorContains(t, err, "research.WorkerInput")
		}
	})
	t.Run("addresses that must not be read", func(t *testing.T) {
		resp, err := w.Call(t.Context(), work(research.WorkerInput{Inputs: map[string]json.RawMessage{"x": found(
			research.Source{URL: "http://127.0.0.1/"}, research.Source{URL: "http://169.254.169.254/latest/"}, research.Source{URL: "http://user:word@b.example/"},
			research.Source{URL: "https://b.example/" + strings.Repeat("a", 5000)}, research.Source{URL: "https://b.example:22/"}, research.Source{URL: "https://b.example/"},
		)}}))
		require.NoError(t, err)
		f := findingsOf(t, resp)
		assert.Equal(t, []string{"Three"}, titles(f))
		assert.Contains(t, f.Summary, "Read 1 of 6 pages. Not read: http://127.0.0.1/: research/forbidden-address: 127.0.0.1 is not public; ")
		assert.LessOrEqual(t, len(f.Summary), 2100)
	})
	t.Run("any number of calls at once", func(t *testing.T) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				resp, err := w.Call(t.Context(), work(research.WorkerInput{Brief: research.Brief{PreferredSources: []string{"https://b.example/"}}}))
				assert.NoError(t, err)
				assert.Contains(t, string(resp.Data), "Three")
			})
		}
		all.Wait()
	})
}

// statuses answers by the first part of the path: a status, and how long to wait.
var statuses = client(func(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/robots.txt" {
		return reply(http.StatusNotFound, "text/html", ""), nil
	}
	var status, wait int
	_, _ = fmt.Sscanf(r.URL.Path, "/%d/%d", &status, &wait)
	if status == 0 {
		panic("no status")
	}
	return reply(status, "text/html", page("x"), "Retry-After", fmt.Sprint(wait)), nil
})

func TestScrapeFailures(t *testing.T) {
	w := scraperOf(t, workers.ScraperConfig{Client: statuses})
	call := func(paths ...string) (agent.Response, error) {
		var in research.WorkerInput
		for _, p := range paths {
			in.Brief.PreferredSources = append(in.Brief.PreferredSources, "https://a.example/"+p)
		}
		return w.Call(t.Context(), work(in))
	}
	t.Run("one page is enough", func(t *testing.T) {
		resp, err := call("404", "503/9", "200", "panic")
		require.NoError(t, err)
		f := findingsOf(t, resp)
		assert.Len(t, f.Sources, 1)
		assert.Equal(t, "Read 1 of 4 pages. Not read: https://a.example/404: status 404 Not Found; https://a.example/503/9: status 503 Service Unavailable; https://a.example/panic: panic: no status", f.Summary)
	})
	t.Run("a message of bounded length", func(t *testing.T) {
		many := scraperOf(t, workers.ScraperConfig{Client: statuses, Limits: workers.ScraperLimits{Pages: 100}})
		in := research.WorkerInput{Brief: research.Brief{PreferredSources: []string{"https://a.example/200"}}}
		for i := range 99 {
			in.Brief.PreferredSources = append(in.Brief.PreferredSources, fmt.Sprintf("https://a.example/404/%d", i))
		}
		resp, err := many.Call(t.Context(), work(in))
		require.NoError(t, err)
		assert.Equal(t, 2000, utf8.RuneCountInString(findingsOf(t, resp).Summary))
	})
	t.Run("no page, permanently", func(t *testing.T) {
		_, err := call("404", "410", "panic")
		isFinal(t, err)
		require.ErrorContains(t, err, "none of 3 pages could be read: https://a.example/404: status 404 Not Found; ")
	})
	t.Run("no page, transiently: the longest wait counts", func(t *testing.T) {
		_, err := call("404", "503/9", "429/30", "500")
		assert.Equal(t, 30*time.Second, isTransient(t, err).RetryAfter)
	})
}

func TestScrapeRobots(t *testing.T) {
	var asked sync.Map
	rules := map[string]func() *http.Response{}
	c := client(func(r *http.Request) (*http.Response, error) {
		n, _ := asked.LoadOrStore(r.URL.Host+r.URL.Path, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		switch resp := rules[r.URL.Host]; {
		case r.URL.Path == "/moved":
			return reply(http.StatusFound, "text/html", "", "Location", "https://closed.example/"), nil
		case r.URL.Path != "/robots.txt":
			return reply(http.StatusOK, "text/html", page(r.URL.Path)), nil
		case resp != nil:
			return resp(), nil
		}
		return reply(http.StatusNotFound, "text/html", ""), nil
	})
	count := func(what string) int64 {
		n, ok := asked.Load(what)
		if !ok {
			return 0
		}
		return n.(*atomic.Int64).Load()
	}
	set := func(host string, status int, text string) {
		rules[host] = func() *http.Response { return reply(status, "text/plain", text, "Retry-After", "5") }
	}
	set("some.example", 200, "User-agent: convene-research\nDisallow: /private\nDisallow: /*?print")
	set("closed.example", 200, "User-agent: *\nDisallow: /")
	set("down.example", 503, "")
	set("busy.example", 429, "")
	set("secret.example", 403, "")
	set("moved.example", 204, "")
	scraper := func(cfg workers.ScraperConfig) *workers.WebScraper {
		cfg.Client = c
		return scraperOf(t, cfg)
	}
	w := scraper(workers.ScraperConfig{})

	t.Run("once for a site", func(t *testing.T) {
		resp, err := w.Call(t.Context(), work(research.WorkerInput{Brief: research.Brief{PreferredSources: []string{
			"https://some.example/a", "https://some.example/private/b", "https://SOME.example/c", "https://some.example/c?print=1",
		}}}))
		require.NoError(t, err)
		f := findingsOf(t, resp)
		assert.Equal(t, []string{"/a", "/c"}, titles(f))
		assert.Contains(t, f.Summary, "https://some.example/private/b: research/robots: the site's robots.txt does not allow it; https://some.example/c?print=1: research/robots")
		assert.Equal(t, int64(1), count("some.example/robots.txt")+count("SOME.example/robots.txt"))
		assert.Zero(t, count("some.example/private/b"))
	})
	t.Run("closed", func(t *testing.T) {
		_, err := w.Fetch(t.Context(), "https://closed.example/")
		isFinal(t, err)
		require.ErrorIs(t, err, workers.ErrRobots)
		_, err = w.Fetch(t.Context(), "https://open.example/moved")
		require.ErrorIs(t, err, workers.ErrRobots, "by a redirect")
		assert.Zero(t, count("closed.example/"))
	})
	t.Run("unavailable now", func(t *testing.T) {
		for _, host := range []string{"down.example", "busy.example"} {
			_, err := w.Fetch(t.Context(), "https://"+host+"/")
			assert.Equal(t, 5*time.Second, isTransient(t, err).RetryAfter)
			require.ErrorContains(t, err, "robots.txt")
			assert.Zero(t, count(host+"/"))
		}
	})
	t.Run("for other programs", func(t *testing.T) {
		_, err := w.Fetch(t.Context(), "https://secret.example/")
		require.NoError(t, err, "a site that hides it has none")
		_, err = w.Fetch(t.Context(), "https://moved.example/")
		isFinal(t, err)
	})
	t.Run("another name", func(t *testing.T) {
		set("some.example", 200, "User-agent: convene-research\nDisallow: /private")
		_, err := scraper(workers.ScraperConfig{UserAgent: "acme/2 (mail@acme.example)"}).Fetch(t.Context(), "https://some.example/private")
		require.NoError(t, err)
	})
	t.Run("ignored", func(t *testing.T) {
		before := count("closed.example/robots.txt")
		_, err := scraper(workers.ScraperConfig{IgnoreRobots: true}).Fetch(t.Context(), "https://closed.example/")
		require.NoError(t, err)
		assert.Equal(t, before, count("closed.example/robots.txt"))
	})
}

// slow answers after a second, and notes how many requests there are at once.
type slow struct {
	mu   sync.Mutex
	now  map[string]int
	most map[string]int // by host; "" is all hosts
}

func (s *slow) client() *http.Client {
	s.now, s.most = map[string]int{}, map[string]int{}
	change := func(host string, by int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, k := range []string{"", host} {
			s.now[k] += by
			s.most[k] = max(s.most[k], s.now[k])
		}
	}
	return client(func(r *http.Request) (*http.Response, error) {
		host := strings.ToLower(r.URL.Host)
		change(host, 1)
		defer change(host, -1)
		select {
		case <-time.After(time.Second):
			return reply(http.StatusOK, "text/html", page(r.URL.Host+r.URL.Path)), nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	})
}

// some are addresses: so many of each of so many sites.
func some(sites, pages int) research.WorkerInput {
	var in research.WorkerInput
	for p := range pages {
		for s := range sites {
			in.Brief.PreferredSources = append(in.Brief.PreferredSources, fmt.Sprintf("https://%s%d.example/p%d", []string{"s", "S"}[p%2], s, p))
		}
	}
	return in
}

func TestScrapeTime(t *testing.T) {
	t.Run("sites side by side, their pages one after another", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web slow
			w := scraperOf(t, workers.ScraperConfig{Client: web.client(), IgnoreRobots: true, Limits: workers.ScraperLimits{Pages: 12}})
			begun := time.Now()
			resp, err := w.Call(t.Context(), work(some(6, 2)))
			require.NoError(t, err)
			assert.Len(t, findingsOf(t, resp).Sources, 12)
			assert.Equal(t, 4*time.Second, time.Since(begun), "four sites of two pages, then two")
			assert.Equal(t, 4, web.most[""])
			assert.Equal(t, 1, web.most["s0.example"])
		})
	})
	t.Run("what was read when the time is up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web slow
			w := scraperOf(t, workers.ScraperConfig{Client: web.client(), IgnoreRobots: true, Limits: workers.ScraperLimits{TotalTime: 3500 * time.Millisecond}})
			begun := time.Now()
			resp, err := w.Call(t.Context(), work(some(1, 9)))
			require.NoError(t, err)
			f := findingsOf(t, resp)
			assert.Len(t, f.Sources, 3)
			assert.True(t, strings.HasPrefix(f.Summary, "Read 3 of 9 pages. Not read: https://S0.example/p3: context deadline exceeded"), f.Summary)
			assert.Equal(t, 3500*time.Millisecond, time.Since(begun))
		})
	})
	t.Run("what was read before the call's own deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web slow
			w := scraperOf(t, workers.ScraperConfig{Client: web.client(), IgnoreRobots: true})
			ctx, cancel := context.WithTimeout(t.Context(), 9500*time.Millisecond)
			defer cancel()
			begun := time.Now()
			resp, err := w.Call(ctx, work(some(1, 10)))
			require.NoError(t, err)
			assert.Len(t, findingsOf(t, resp).Sources, 8)
			assert.Equal(t, 8550*time.Millisecond, time.Since(begun), "nine tenths")
		})
	})
	t.Run("nothing in time is worth another try", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web slow
			w := scraperOf(t, workers.ScraperConfig{Client: web.client(), IgnoreRobots: true, Limits: workers.ScraperLimits{TotalTime: time.Millisecond}})
			_, err := w.Call(t.Context(), work(some(2, 1)))
			isTransient(t, err)
		})
	})
	t.Run("three minutes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true, Limits: workers.ScraperLimits{Pages: 100}, Client: client(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})})
			begun := time.Now()
			_, err := w.Call(t.Context(), work(some(1, 20)))
			isTransient(t, err)
			assert.Equal(t, 3*time.Minute, time.Since(begun), "nine pages of 20 s")
		})
	})
	t.Run("canceled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web slow
			w := scraperOf(t, workers.ScraperConfig{Client: web.client(), IgnoreRobots: true})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(1500*time.Millisecond, cancel)
			begun := time.Now()
			_, err := w.Call(ctx, work(some(2, 5)))
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, 1500*time.Millisecond, time.Since(begun))
		})
	})
}

// A host that changes its configuration afterwards changes nothing.
func TestScraperCopies(t *testing.T) {
	s := serve(t, site{"/": page("x")})
	access := workers.Access{AllowPrivate: []netip.Prefix{here}, Ports: []uint16{portOf(t, s)}}
	w, err := workers.NewWebScraper(workers.ScraperConfig{Access: access})
	require.NoError(t, err)
	access.AllowPrivate[0], access.Ports[0] = netip.MustParsePrefix("10.0.0.0/8"), 1
	_, err = w.Fetch(t.Context(), s.URL)
	require.NoError(t, err)
}

// The pages that a scraper asks for are the same each time.
func TestScrapeOrder(t *testing.T) {
	var first []string
	for range 20 {
		var mu sync.Mutex
		var asked []string
		w := scraperOf(t, workers.ScraperConfig{IgnoreRobots: true, Limits: workers.ScraperLimits{Pages: 3, Parallel: 1}, Client: client(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.URL.String())
			return reply(http.StatusOK, "text/html", page("x")), nil
		})})
		inputs := map[string]json.RawMessage{}
		for i := range 9 {
			inputs[fmt.Sprint("w", i)] = found(research.Source{URL: fmt.Sprintf("https://s%d.example/", i)})
		}
		_, err := w.Call(t.Context(), work(research.WorkerInput{Inputs: inputs}))
		require.NoError(t, err)
		if first == nil {
			first = slices.Clone(asked)
		}
		require.Equal(t, first, asked)
	}
	assert.Equal(t, []string{"https://s0.example/", "https://s1.example/", "https://s2.example/"}, first)
}
