/** What becomes of a block of commands in the documentation; `begins` is how its script begins. */
export type Documented = { file: string; begins: string } & (
  | { prints: RegExp; adds?: (gateway: { url: string; operationsUrl: string }) => string }
  | { notRun: string }
)

/** Every block, either run against a gateway of this test's own, or with the reason why it is not. */
export const documented: Documented[] = [
  {
    file: 'README.md',
    begins: 'npm ci && npm start',
    notRun:
      'it installs anew into the folder that this test runs in; .ci/run does, and process.ts starts what npm start starts',
  },
  {
    file: 'README.md',
    begins: 'npm run tour',
    prints: /The tour is complete/,
  },
  { file: 'README.md', begins: 'portico() {', prints: /"walletName":"Main USD"/ },
  {
    file: 'docs/upstreams.md',
    begins: 'PORT=8081',
    notRun: 'a service that runs until it is stopped: test/e2e/example-service.test.ts runs it behind a gateway',
  },
  {
    file: 'docs/secure-channel.md',
    begins: 'node docs/example-secure-channel.mjs',
    adds: ({ url }) => ` ${url}`,
    prints: /EMAIL offered.*replay {4}SECURE_CHANNEL\.INVALID_PAYLOAD.*closed {4}SECURE_CHANNEL\.INVALID_PAYLOAD/s,
  },
  {
    file: 'docs/production.md',
    begins: 'docker build',
    notRun:
      'no container engine runs here: scripts/test-image.sh builds the Dockerfile with buildah and starts its root',
  },
  {
    file: 'docs/production.md',
    begins: 'redis-cli ACL SETUSER',
    notRun:
      'it asks a Redis of one’s own: all end-to-end tests with replicas do with these rights (harness/global-setup.ts)',
  },
  { file: 'docs/portals.md', begins: 'printf %s', prints: /^[0-9a-f]{64} / },
  { file: 'docs/configuration.md', begins: 'npx portico config check', prints: /^profile: development$/m },
  {
    file: 'docs/metrics.md',
    begins: 'curl -s http://127.0.0.1:9090/metrics',
    prints: /^portico_request_duration_seconds_/m,
  },
  { file: 'docs/metrics.md', begins: 'curl -s http://127.0.0.1:9090/explain/', prints: /^\[\]$/ },
]
