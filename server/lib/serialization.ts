import {
  type Serializer,
  type SerializerFactory,
  SerializerSelector,
} from '@fastify/fast-json-stringify-compiler'

const build = SerializerSelector()

/** Compiles each of Fastify's serializers at its first use, because compiling all of them took a third of the start time. */
export const lazySerializers: SerializerFactory = (schemas, options) => {
  const compile = build(schemas, options)
  return (route) => {
    let serialize: Serializer | undefined
    return (document) => {
      serialize ??= compile(route)
      return serialize(document)
    }
  }
}
