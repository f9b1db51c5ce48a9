package team

// RuleAgents returns the agents that rules declare.
var RuleAgents = ruleAgents

// Guard calls a hook of the host.
func Guard[T any](what string, hook func() (T, error)) (T, error) { return guard(what, hook) }
