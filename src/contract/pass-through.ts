import { isPassThrough, type Operation } from '../kernel/index.ts'

/** The gateway does not read replies that it passes through, so it can neither repeat nor seal them. */
export function passThroughErrors(operation: Operation): [field: string, message: string][] {
  const { method, body, reply, policy } = operation
  if (!isPassThrough(operation)) return body === 'raw' ? [['body', "'raw' needs `reply: 'raw'`"]] : []
  const isGetOnly = reply !== 'raw'
  const rules: [broken: boolean, field: string, message: string][] = [
    [isGetOnly && method !== 'GET', 'method', `must be GET for \`reply: '${reply}'\``],
    [isGetOnly && body !== 'none', 'body', `must be 'none' for \`reply: '${reply}'\``],
    [body === 'multipart', 'body', "must be 'raw' instead of 'multipart'"],
    [policy.idempotent, 'policy.idempotent', `must be false for \`reply: '${reply}'\``],
    [policy.channel !== 'none', 'policy.channel', `must be 'none' for \`reply: '${reply}'\``],
  ]
  return rules.flatMap(([broken, field, message]) => (broken ? [[field, message] as [string, string]] : []))
}
