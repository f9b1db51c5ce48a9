package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strconv"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/research/workers"
)

// A program reads the internet with workers.ScraperConfig{}; here the site is in this
// process, so its address and port must be allowed.
func ExampleNewWebScraper() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /drafts/\n")
			return
		}
		_, _ = io.WriteString(w, "<!doctype html><title>Bridges</title><p>The bridge will open in May, says the town.")
	}))
	defer site.Close()
	address, err := url.Parse(site.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	scraper, err := workers.NewWebScraper(workers.ScraperConfig{
		UserAgent: "acme-news/1 (+https://acme.example/bot)",
		Access:    workers.Access{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Ports: []uint16{uint16(port)}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	page, err := scraper.Fetch(ctx, site.URL+"/bridge")
	fmt.Println(page.Title, "|", page.Text, "|", err)
	_, err = scraper.Fetch(ctx, site.URL+"/drafts/bridge")
	fmt.Println(errors.Is(err, workers.ErrRobots))
	_, err = scraper.Fetch(ctx, "http://169.254.169.254/latest/meta-data/")
	fmt.Println(err)
	// Output:
	// Bridges | The bridge will open in May, says the town. | <nil>
	// true
	// read "http://169.254.169.254/latest/meta-data/": research/forbidden-address: 169.254.169.254 is not public
}

// A program asks arXiv with workers.SearchConfig{}; here something in this process
// answers as it does. The team calls the worker like this.
func ExampleNewAcademicSearch() {
	arxiv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		data, err := os.ReadFile("testdata/arxiv.xml")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(data)
	}))
	defer arxiv.Close()
	search, err := workers.NewAcademicSearch(workers.SearchConfig{URL: arxiv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	input := research.WorkerInput{WorkerID: "academic_search", Brief: research.Brief{Topic: "Triage by nurses", MinSources: 2}}
	resp, err := search.Call(context.Background(), agent.Request{Op: "work", Input: agent.JSON(input)})
	if err != nil {
		fmt.Println(err)
		return
	}
	var found research.Findings
	if err := json.Unmarshal(resp.Data, &found); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range found.Sources {
		fmt.Printf("%.2f %s (%s)\n", s.Relevance, s.Title, s.URL)
	}
	// Output:
	// 1.00 Triage Assistants for Night Shifts: A Made-up Study (http://arxiv.org/abs/9901.00001v2)
	// 0.50 Queues That Nobody Stands In (http://arxiv.org/abs/9901.00002v1)
}
