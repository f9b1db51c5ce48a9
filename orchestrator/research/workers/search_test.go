package workers_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/research/workers"
)

func recorded(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(data)
}

// library is an arXiv of a test. It notes what it was asked, and when.
type library struct {
	mu    sync.Mutex
	asked []url.Values
	agent string
	at    []time.Duration // since the first request
	first time.Time
	now   int // requests under way
	most  int

	answer func(n int, r *http.Request) (*http.Response, error) // of request n, from 1
}

func (l *library) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	if l.asked == nil {
		l.first = time.Now()
	}
	l.asked, l.at, l.agent = append(l.asked, r.URL.Query()), append(l.at, time.Since(l.first)), r.UserAgent()
	n := len(l.asked)
	l.now++
	l.most = max(l.most, l.now)
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.now--
		l.mu.Unlock()
	}()
	return l.answer(n, r)
}

// always is an arXiv with one answer.
func always(status int, body string, header ...string) *library {
	return &library{answer: func(int, *http.Request) (*http.Response, error) {
		return reply(status, "application/atom+xml", body, header...), nil
	}}
}

func searchOf(t *testing.T, l *library) *workers.AcademicSearch {
	t.Helper()
	w, err := workers.NewAcademicSearch(workers.SearchConfig{Client: &http.Client{Transport: l}})
	require.NoError(t, err)
	return w
}

const empty = `<feed xmlns="http://www.w3.org/2005/Atom"></feed>`

func TestNewAcademicSearch(t *testing.T) {
	for _, address := range []string{"arxiv.org", "file:///x", "http://", "http://[::1"} {
		_, err := workers.NewAcademicSearch(workers.SearchConfig{URL: address, UserAgent: "1", Results: 101, Pause: -1, Timeout: -1})
		for _, want := range []string{"academic search: ", "URL", "UserAgent", "Results is 101", "Pause", "Timeout"} {
			require.ErrorContains(t, err, want)
		}
	}
}

func TestSearch(t *testing.T) {
	feed := recorded(t, "arxiv.xml")
	t.Run("papers as sources", func(t *testing.T) {
		l := always(http.StatusOK, feed)
		resp, err := searchOf(t, l).Call(t.Context(), work(research.WorkerInput{Brief: research.Brief{Topic: "Triage by nurses", MinSources: 7}}))
		require.NoError(t, err)
		assert.Equal(t, research.Findings{
			Summary: "Papers that arXiv has for this: 3.",
			Sources: []research.Source{
				{
					Title: "Triage Assistants for Night Shifts: A Made-up Study", URL: "http://arxiv.org/abs/9901.00001v2", Kind: "academic", Relevance: 1,
					Excerpt: "Ada Example, Ben Sample (2024-03-02). We ask whether software helps nurses to sort patients & cases at night. It does, by a little.",
				},
				{
					Title: "Queues That Nobody Stands In", URL: "http://arxiv.org/abs/9901.00002v1", Kind: "academic", Relevance: 0.5,
					Excerpt: "A. One, B. Two, C. Three, D. Four, E. Five, et al. (2023-01-02). A theory of waiting rooms without triage.",
				},
				{Title: "On Other Things", URL: "https://arxiv.org/abs/9901.00003v1", Kind: "academic", Excerpt: "Nothing of the kind."},
			},
		}, findingsOf(t, resp), "its words are triage and nurses")
		assert.Equal(t, []url.Values{{
			"search_query": {"all:triage AND all:nurses"}, "start": {"0"}, "max_results": {"7"}, "sortBy": {"relevance"}, "sortOrder": {"descending"},
		}}, l.asked)
		assert.Equal(t, workers.DefaultUserAgent, l.agent)
	})
	t.Run("how many", func(t *testing.T) {
		for _, tt := range []struct{ want, results, asked int }{
			{want: 0, asked: 10}, {want: -5, asked: 1}, {want: 1, asked: 1}, {want: 50, asked: 50}, {want: 51, asked: 50}, {want: 51, results: 20, asked: 20},
		} {
			l := always(http.StatusOK, feed)
			w, err := workers.NewAcademicSearch(workers.SearchConfig{Results: tt.results, Client: &http.Client{Transport: l}})
			require.NoError(t, err)
			resp, err := w.Call(t.Context(), work(research.WorkerInput{Brief: research.Brief{Topic: "x", MinSources: tt.want}}))
			require.NoError(t, err)
			assert.Equal(t, []string{strconv.Itoa(tt.asked)}, l.asked[0]["max_results"])
			assert.Len(t, findingsOf(t, resp).Sources, min(3, tt.asked), "no more than were asked for")
		}
	})
	t.Run("what is searched for", func(t *testing.T) {
		for topic, want := range map[string]string{
			`AI in "healthcare" AND ti:x OR (all:y) ANDNOT`: "all:ai AND all:healthcare AND all:ti AND all:x AND all:y AND all:andnot",
			"a&b=c#d%20":                 "all:b AND all:c AND all:d AND all:20",
			"1 2 3 4 5 6 7 8 9 10 11 12": "all:1 AND all:2 AND all:3 AND all:4 AND all:5 AND all:6 AND all:7 AND all:8 AND all:9 AND all:10",
			"Größe":                      "all:größe",
		} {
			l := always(http.StatusOK, feed)
			_, err := searchOf(t, l).Search(t.Context(), topic, 1)
			require.NoError(t, err)
			assert.Equal(t, []string{want}, l.asked[0]["search_query"], topic)
		}
	})
	t.Run("a base with parameters of its own", func(t *testing.T) {
		l := always(http.StatusOK, feed)
		w, err := workers.NewAcademicSearch(workers.SearchConfig{URL: "http://mirror.example/q?key=k&start=5", Client: &http.Client{Transport: l}})
		require.NoError(t, err)
		_, err = w.Search(t.Context(), "x", 1)
		require.NoError(t, err)
		assert.Equal(t, []string{"k"}, l.asked[0]["key"])
		assert.Equal(t, []string{"0"}, l.asked[0]["start"])
	})
	t.Run("no words", func(t *testing.T) {
		l := always(http.StatusOK, feed)
		_, err := searchOf(t, l).Call(t.Context(), work(research.WorkerInput{Brief: research.Brief{Topic: "?!"}}))
		isFinal(t, err)
		require.ErrorIs(t, err, workers.ErrNothing)
		assert.Empty(t, l.asked)
	})
	t.Run("no input", func(t *testing.T) {
		_, err := searchOf(t, always(http.StatusOK, feed)).Call(t.Context(), agent.Request{})
		isFinal(t, err)
	})
}

func TestSearchWidens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &library{answer: func(n int, _ *http.Request) (*http.Response, error) {
			return reply(http.StatusOK, "", []string{empty, recorded(t, "arxiv.xml")}[n-1]), nil
		}}
		sources, err := searchOf(t, l).Search(t.Context(), "nurses, triage", 10)
		require.NoError(t, err)
		assert.Len(t, sources, 3)
		assert.Equal(t, []string{"all:nurses OR all:triage"}, l.asked[1]["search_query"])
		assert.Equal(t, []time.Duration{0, 3 * time.Second}, l.at)
	})
	synctest.Test(t, func(t *testing.T) {
		l := always(http.StatusOK, empty)
		resp, err := searchOf(t, l).Call(t.Context(), work(research.WorkerInput{Brief: research.Brief{Topic: "nurses"}}))
		require.NoError(t, err)
		assert.Equal(t, `{"sources":[],"summary":"Papers that arXiv has for this: 0."}`, string(resp.Data))
		assert.Len(t, l.asked, 1, "one word is not widened")
	})
}

// arXiv wants one request at a time, and three seconds between them.
func TestSearchPace(t *testing.T) {
	t.Run("calls wait for each other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &library{answer: func(int, *http.Request) (*http.Response, error) {
				<-time.After(time.Second)
				return reply(http.StatusOK, "", recorded(t, "arxiv.xml")), nil
			}}
			w := searchOf(t, l)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					_, err := w.Search(t.Context(), "x", 1)
					assert.NoError(t, err)
				})
			}
			all.Wait()
			assert.Equal(t, []time.Duration{0, 4 * time.Second, 8 * time.Second}, l.at)
			assert.Equal(t, 1, l.most)
		})
	})
	t.Run("a canceled call takes no turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := always(http.StatusOK, recorded(t, "arxiv.xml"))
			w := searchOf(t, l)
			_, err := w.Search(t.Context(), "x", 1)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = w.Search(ctx, "x", 1)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = w.Search(t.Context(), "x", 1)
			require.NoError(t, err)
			assert.Equal(t, []time.Duration{0, 3 * time.Second}, l.at)
			<-time.After(time.Minute)
			canceled, stop := context.WithCancel(t.Context())
			stop()
			for range 20 { // a turn is there, too
				_, err = w.Search(canceled, "x", 1)
				require.ErrorIs(t, err, context.Canceled)
			}
			assert.Len(t, l.asked, 2)
		})
	})
	t.Run("a wait that arXiv asks for delays the next request", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &library{answer: func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return reply(http.StatusServiceUnavailable, "", "", "Retry-After", "60"), nil
				}
				return reply(http.StatusOK, "", recorded(t, "arxiv.xml")), nil
			}}
			w := searchOf(t, l)
			_, err := w.Search(t.Context(), "x", 1)
			assert.Equal(t, time.Minute, isTransient(t, err).RetryAfter)
			_, err = w.Search(t.Context(), "x", 1)
			require.NoError(t, err)
			assert.Equal(t, []time.Duration{0, time.Minute}, l.at)
		})
	})
	t.Run("a panic of the transport releases the turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &library{answer: func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					panic("boom")
				}
				return reply(http.StatusOK, "", recorded(t, "arxiv.xml")), nil
			}}
			w := searchOf(t, l)
			assert.Panics(t, func() { _, _ = w.Search(t.Context(), "x", 1) })
			_, err := w.Search(t.Context(), "x", 1)
			require.NoError(t, err)
		})
	})
}

func TestSearchFailures(t *testing.T) {
	tests := []struct {
		name   string
		l      *library
		again  bool
		wait   time.Duration
		reason string
	}{
		{"too many requests", always(429, "", "Retry-After", "30"), true, 30 * time.Second, "status 429"},
		{"not now", always(503, "Rate exceeded."), true, 0, "status 503"},
		{"not for hours", always(503, "", "Retry-After", "7200"), false, 0, "asked again in 2h"},
		{"broken", always(500, ""), true, 0, "status 500"},
		{"not there", always(404, ""), false, 0, "status 404"},
		{"a fault of the query", always(400, recorded(t, "arxiv-error.xml")), false, 0, "max_results must be non-negative"},
		{"a fault that comes as a success", always(200, recorded(t, "arxiv-error.xml")), false, 0, "max_results must be non-negative"},
		{"a fault without a word", always(400, "?"), false, 0, "status 400"},
		{"a page that is empty by mistake", always(200, strings.Replace(empty, "></feed>", ` xmlns:o="http://a9.com/-/spec/opensearch/1.1/"><o:totalResults>9</o:totalResults></feed>`, 1)), true, 0, "9 papers and sent none"},
		{"HTML", always(200, "<html>Sorry"), false, 0, "no Atom feed"},
		{"no network", &library{answer: func(int, *http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }}, true, 0, "unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := searchOf(t, tt.l).Call(t.Context(), work(research.WorkerInput{Brief: research.Brief{Topic: "x"}}))
			require.ErrorContains(t, err, "academic search: ")
			require.ErrorContains(t, err, tt.reason)
			if !tt.again {
				isFinal(t, err)
				return
			}
			assert.Equal(t, tt.wait, isTransient(t, err).RetryAfter)
		})
	}
	t.Run("too slow", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &library{answer: func(_ int, r *http.Request) (*http.Response, error) {
				resp := reply(200, "", "")
				resp.Body = io.NopCloser(&drip{ctx: r.Context()})
				return resp, nil
			}}
			begun := time.Now()
			_, err := searchOf(t, l).Search(t.Context(), "x", 1)
			isTransient(t, err)
			require.ErrorContains(t, err, "it took longer than 30s")
			assert.Equal(t, 30*time.Second, time.Since(begun))
		})
	})
	t.Run("canceled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l := &library{answer: func(_ int, r *http.Request) (*http.Response, error) {
				cancel()
				<-r.Context().Done()
				return nil, r.Context().Err()
			}}
			_, err := searchOf(t, l).Search(ctx, "x", 1)
			require.ErrorIs(t, err, context.Canceled)
			assert.False(t, agent.ErrorOf(err).Transient, "a canceled call is not retried")
		})
	})
}

func TestSearchHostile(t *testing.T) {
	search := func(t *testing.T, answer http.HandlerFunc) ([]research.Source, error) {
		t.Helper()
		w, err := workers.NewAcademicSearch(workers.SearchConfig{URL: serve(t, answer).URL})
		require.NoError(t, err)
		return w.Search(t.Context(), "x", 10)
	}
	for name, h := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			_, err := search(t, h.answer)
			require.ErrorContains(t, err, h.want)
		})
	}
	t.Run("a redirect to another host", func(t *testing.T) {
		_, err := search(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost/", http.StatusFound)
		})
		isFinal(t, err)
		require.ErrorIs(t, err, workers.ErrAddress)
	})
	t.Run("a redirect without end", func(t *testing.T) {
		_, err := search(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) })
		isFinal(t, err)
		require.ErrorContains(t, err, "redirects more than 5 times")
	})
	t.Run("a redirect on its host", func(t *testing.T) {
		_, err := search(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/there", http.StatusMovedPermanently)
				return
			}
			_, _ = io.WriteString(w, recorded(t, "arxiv.xml"))
		})
		require.NoError(t, err)
	})
	t.Run("papers by the ten thousand", func(t *testing.T) {
		sources, err := search(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `<feed xmlns="http://www.w3.org/2005/Atom">`+strings.Repeat("<entry><title>x</title></entry>", 39_000)+"</feed>")
		})
		require.NoError(t, err)
		assert.Len(t, sources, 10)
	})
}
