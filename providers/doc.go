// Package providers is the face of language models: one interface, messages,
// usage and prices, errors by kind, and roles with fallback chains.
//
// A host that has its own gateway implements [Model], one method. Everybody
// else opens a model by name with one of the packages below this one, and in
// unit tests scripts one with package fake.
//
// [Config] says in one piece of JSON which models the roles of a host have, what
// they fall back on, what their providers allow and what they cost; [NewRoles] is
// the short way. [Retry] is for models that no engine looks after.
package providers
