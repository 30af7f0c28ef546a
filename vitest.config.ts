import { defineConfig } from 'vitest/config'

/**
 * The same end-to-end tests in every topology: one process on the embedded store, the domains behind HTTP over
 * PostgreSQL, and two replicas over PostgreSQL and Redis that are used in turn.
 */
const topologies = ['embedded', 'split', 'replicas'] as const

export default defineConfig({
  test: {
    // A test that starts processes takes a machine that is busy ten times as long, and one that hangs is told of all the same.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    // A loop over nothing, a callback that nobody calls: a test that comes to no expectation has shown nothing.
    // What has to come about may take a busy machine longer than the second that is given by default.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    // One more than cores, for tests wait often; each may hold an embedded PostgreSQL of several hundred megabytes.
    maxWorkers: 3,
    globalSetup: ['test/harness/run-folder.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/{e2e,faults,browser,load}/**', '**/node_modules/**'],
          // Not to load and compile all code anew for each file is a third of the work less.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'faults', include: ['test/faults/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: ['test/browser/global-setup.ts'],
          provide: { topology: 'embedded' },
        },
      },
      ...topologies.map((topology) => ({
        extends: true as const,
        test: {
          name: topology,
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/harness/global-setup.ts'],
          setupFiles: ['test/harness/recording/observe.ts'],
          // Each file starts gateways of its own and ends them. What records examples keeps them by file.
          isolate: process.env.RECORD_EXAMPLES === '1',
          provide: { topology },
        },
      })),
    ],
  },
})
