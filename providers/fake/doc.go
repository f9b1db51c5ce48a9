// Package fake scripts a model for unit tests: answers in order, or by rules that
// do not depend on the order of calls, for agents that work at the same time.
//
//	m := fake.New(t, fake.Text("first"), fake.Fail(providers.RateLimited, time.Minute))
//	m.When(fake.Rule{Text: "review", Times: 2, Answer: fake.JSON(verdict)})
//	m.When(fake.Rule{System: "You are the critic", Answers: []fake.Answer{fake.Text("no"), fake.Text("yes")}})
//
// Where an agent.LLM asks for a team, a rule can name the operation, the task and the
// attempt, and need not look into prompts:
//
//	m.When(fake.Rule{Op: "work", Task: "t-1", Answers: []fake.Answer{fake.JSON(first), fake.JSON(second)}})
//
// A call without a scripted answer and an answer that no call has used fail the test:
// scripts do not start again silently.
//
// An [Answer] is a text, calls of tools, an error of any kind or a hang; it may have a
// latency, which is virtual in a bubble of testing/synctest. [FromSchema] makes data
// that fits the requested schema and [CallTools] calls the offered tools, for tests in
// which only the shape counts. [Roles] has a fake for every role, and [BlockNetwork]
// makes sure that no real model is called.
package fake
