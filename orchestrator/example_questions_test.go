package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
)

// approvals is a page beside the workers: GET / lists what waits for an answer, and
// POST / gives one.
func approvals(eng *orchestrator.Engine, user func(*http.Request) string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		page := []orchestrator.OpenQuestion{}
		q := orchestrator.QuestionQuery{Text: r.FormValue("text"), After: r.FormValue("after"), Limit: 50}
		for open, err := range eng.Questions(r.Context(), q) {
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			page = append(page, open)
		}
		_ = json.NewEncoder(w).Encode(page) // the Cursor of the last one is "after" of the next page
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		run, err := eng.Open(r.Context(), r.FormValue("run"))
		if err == nil {
			seen := orchestrator.AnswerOptions{By: user(r), Seen: r.FormValue("hash")}
			err = run.AnswerWith(r.Context(), r.FormValue("key"), r.FormValue("answer") == "yes", seen)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	return mux
}

// An approvals page for all runs, in a process that executes none.
func ExampleEngine_Questions() {
	ctx, store := context.Background(), runlog.NewMemory()
	pay := orchestrator.Flow[int, bool]{Name: "pay", Do: func(c *orchestrator.Context, amount int) (bool, error) {
		return orchestrator.Await[bool](c, orchestrator.Question{Key: "approve", Text: fmt.Sprintf("Pay %d USD?", amount)})
	}}
	worker, _ := orchestrator.NewLocal(orchestrator.Config{Store: store})
	for _, amount := range []int{10, 10_000} {
		_, _ = pay.Start(ctx, worker, amount, orchestrator.StartOptions{ID: fmt.Sprint("pay-", amount)})
	}

	observer, _ := orchestrator.NewLocal(orchestrator.Config{Store: store, Fleet: orchestrator.Fleet{Observe: true}})
	page := approvals(observer, func(*http.Request) string { return "ann" })
	var shown []orchestrator.OpenQuestion
	for len(shown) == 0 { // until it is asked
		got := httptest.NewRecorder()
		page.ServeHTTP(got, httptest.NewRequestWithContext(ctx, http.MethodGet, "/?text=10000", nil))
		_ = json.Unmarshal(got.Body.Bytes(), &shown)
		time.Sleep(time.Millisecond)
	}
	fmt.Println(shown[0].Run, "asks:", shown[0].Question.Text)

	form := url.Values{"run": {shown[0].Run}, "key": {"approve"}, "hash": {shown[0].Question.Hash}, "answer": {"yes"}}
	got := httptest.NewRecorder()
	page.ServeHTTP(got, httptest.NewRequestWithContext(ctx, http.MethodPost, "/?"+form.Encode(), nil))
	run, _ := worker.Open(ctx, shown[0].Run)
	paid, err := pay.Result(ctx, run)
	fmt.Println(got.Code, paid, err)
	_, _ = worker.Close(ctx), observer.Close(ctx)
	// Output:
	// pay-10000 asks: Pay 10000 USD?
	// 200 true <nil>
}
