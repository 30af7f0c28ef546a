/**
 * The services of the domains, by the name of the domain. A domain adds the type of its `service` by declaration merging:
 * `declare module '../../api/services.ts' { interface DomainServices { members: Members } }`. An extension names the module
 * `portico`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: domains extend it by declaration merging.
export interface DomainServices {}
