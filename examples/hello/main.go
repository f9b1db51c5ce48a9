package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	o "github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

var hello = o.Flow[string, o.Refined[string]]{Name: "hello", Agents: []string{"writer", "critic"}, Do: func(c *o.Context, topic string) (o.Refined[string], error) {
	return o.Refine(c, o.Refinement[string]{
		Attempts: 3, Gate: 80,
		Try: func(c *o.Context, last o.Refined[string]) (string, error) {
			r, err := c.Call("writer", agent.Request{Prompt: "Write one line about " + topic + ". " + last.Feedback})
			return r.Text, err
		},
		Grade: func(c *o.Context, text string) (o.Verdict, error) {
			v, _, err := o.Ask[o.Verdict](c, "critic", agent.Request{Prompt: "Grade 0..100: " + text})
			return v, err
		},
	})
}}

func main() {
	flag.Usage = func() { fmt.Println("usage: hello: a writer tries until a critic's grade passes; no flags, no key") }
	flag.Parse()
	eng, err := o.NewLocal(o.Config{Agents: agent.Roster{"writer": agent.Func(writer), "critic": agent.Func(critic)}})
	if err != nil {
		log.Fatal(err)
	}
	out, err := hello.Run(context.Background(), eng, "tea")
	fmt.Println(out.Value, out.Score, out.Pass, out.Tries, err)
}
