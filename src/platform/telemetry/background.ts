import { Counter, type Registry } from 'prom-client'

/** Work that nobody waits for and that was not done: no answer tells of it. It is asked for when the metrics are. */
export const createBackgroundMetrics = (registry: Registry, givenUp: () => number): void => {
  new Counter({
    name: 'portico_background_given_up_total',
    help: 'Work in the background that was given up',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(givenUp())
    },
  })
}
