// Package providers has the interface of language models: one method, messages, usage
// and prices, errors by kind, and roles with fallback chains.
//
// A host with its own gateway implements [Model], one method. All others open a model by
// name with one of the packages below this one, and script one with package fake in unit
// tests.
//
// [Config] says in one piece of JSON which models the roles of a host have, their
// fallbacks, limits and prices; [NewRoles] is the short way. [Retry] is for models that
// are used without an engine.
package providers
