// Package convene holds nothing but this overview. Convene is a library for teams
// of LLM agents: gated by quality, bound by budgets, and durable.
//
// A host writes flows and gives them agents; an engine carries them out and
// records what they did. Start with these packages:
//
//   - orchestrator: flows, their context, fan-out, refinement, questions to people,
//     budgets, and the engine in this process.
//   - orchestrator/agent: what an agent is, requests, answers, and the one form of
//     errors. Authors of agents need only this package.
//   - orchestrator/flowtest: scripted agents, virtual time, and a crash after every
//     record.
//   - orchestrator/hierarchy, discussion, research: ready teams, of departments and
//     specialists, of people who talk in rounds, of researchers and writers.
//
// The packages below them are useful by themselves:
//
//   - fsm: state machines as tables.
//   - grading: scores, thresholds, reviews and gates, as pure functions.
//   - routing: relevance, selection and order, as pure functions.
//   - providers: the interface of language models, with roles, fallback chains and prices;
//     providers/openai, anthropic and bedrock open real ones, providers/fake and cassette are
//     for tests, providers/mcp brings tools.
//   - blackboard: the board of a team that works on tasks. blackboard/runlog has the logs of
//     runs and the interface of stores; blackboard/sqlite keeps logs in one file and is a
//     module of its own, so that only its users depend on a database.
//
// Authors of stores check theirs with blackboard/storetest. Authors of engines
// start with orchestrator/engine and check theirs with orchestrator/enginetest.
//
// The library prints nothing, logs nothing unless it is given a logger, and starts
// nothing at import. It reads no environment variables, with one exception: what works
// on git repositories asks git, with the environment of the process, for the user's own
// settings, and finds the file that these ignore by HOME and XDG_CONFIG_HOME.
package convene
