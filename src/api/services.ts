declare global {
  /** The services of domains outside this package, by domain: `declare global { interface PorticoServices { ... } }`. */
  interface PorticoServices {}
}

/**
 * The services of the domains, by the name of the domain. Portico's own domains add the type of their `service` by declaration
 * merging: `declare module '../../api/services.ts' { interface DomainServices { members: Members } }`.
 */
export interface DomainServices extends PorticoServices {}
