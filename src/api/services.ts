declare global {
  /**
   * Services of domains outside this package. Add one with `declare global { interface PorticoServices { ... } }`.
   */
  interface PorticoServices {}
}

/**
 * Services by domain. Portico's own domains add theirs by declaration merging: `declare module '../../api/services.ts'
 * { interface DomainServices { members: Members } }`.
 */
export interface DomainServices extends PorticoServices {}
