export const postgresTarget = (url: string) =>
  ({
    kind: 'postgres',
    url,
    poolSize: 2,
    connectTimeoutMs: 2_000,
    statementTimeoutMs: 5_000,
    lockTimeoutMs: 4_000,
    onConnectionBroken: () => undefined,
  }) as const
