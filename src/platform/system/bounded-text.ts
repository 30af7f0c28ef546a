/**
 * The text of an answer of at most so many bytes, counted after whatever coding it came in. A longer one is an error, and
 * is not read on.
 */
export const boundedText = async (
  { body }: { body: AsyncIterable<Uint8Array> | null },
  maxBytes: number,
): Promise<string> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`an answer of more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
