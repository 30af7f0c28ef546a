import { defineConfig } from 'vitest/config'
import { unsupportedNode } from './bin/node-version.js'
import SlowestFirst from './test/harness/sequencer.ts'

const unsupported = unsupportedNode(process.version)
if (unsupported) {
  process.stderr.write(unsupported)
  process.exit(2)
}

/**
 * Embedded: one process on the embedded store. Distributed: two gateways, which take turns, and a domain service on
 * PostgreSQL and Redis. Only files that can see a difference run in both.
 */
const topologies = ['embedded', 'distributed'] as const

export default defineConfig({
  // Extensions that a test loads in its own process.
  resolve: {
    alias: [
      { find: /^portico$/, replacement: `${import.meta.dirname}/src/api/index.ts` },
      { find: /^portico\/contract$/, replacement: `${import.meta.dirname}/src/api/contract.ts` },
    ],
  },
  test: {
    // Long enough for a busy machine, short enough to report a test that hangs.
    testTimeout: 120_000,
    hookTimeout: 300_000,
    // A test without an assertion fails: its loop or callback never ran. Polls wait longer than the default second,
    // because the machine may be busy.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    // More than cores, because tests wait for timers, sockets and other processes. With six, a run is a tenth shorter, but
    // two cores are so busy that tests of short times can fail.
    maxWorkers: 4,
    sequence: { sequencer: SlowestFirst },
    globalSetup: ['test/harness/run-folder.ts'],
    setupFiles: ['test/harness/cpu.ts'],
    reporters: ['./test/harness/reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/{e2e,faults,browser,generators,growth,keycloak,long,package}/**', '**/node_modules/**'],
          // Files share the loaded modules of their worker. Loading them for each file takes half as long again.
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'growth', include: ['test/growth/**/*.test.ts'] },
      },
      {
        extends: true,
        test: { name: 'faults', include: ['test/faults/**/*.test.ts'] },
      },
      {
        extends: true,
        test: { name: 'long', include: ['test/long/**/*.test.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          globalSetup: ['test/package/global-setup.ts'],
          // A step of the guide installs packages.
          testTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'generators',
          include: ['test/generators/**/*.test.ts'],
          globalSetup: ['test/generators/gateway.ts'],
          // They install and run tools of other languages. On an idle machine with two cores, all take three minutes.
          testTimeout: 600_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'keycloak',
          include: ['test/keycloak/**/*.test.ts'],
          globalSetup: ['test/keycloak/global-setup.ts'],
          provide: { topology: 'embedded' },
        },
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
          include: [topology === 'embedded' ? 'test/e2e/**/*.test.ts' : 'test/e2e/shared-state/**/*.test.ts'],
          globalSetup: ['test/harness/global-setup.ts'],
          setupFiles: ['test/harness/cpu.ts', 'test/harness/recording/observe.ts'],
          // Each file stops the gateways that it starts. Recording keeps its examples per file.
          isolate: process.env.RECORD_EXAMPLES === '1',
          provide: { topology },
        },
      })),
    ],
  },
})
