import type { Rotation } from './panorama-view.ts'

// Renders the 360° view with one triangle that covers the canvas. The fragment shader computes the view direction of each
// pixel and samples the equirectangular frame there. A sphere made of triangles would bend straight lines.

const vertexShader = `
  attribute vec2 corner;
  uniform vec2 extent;
  varying vec2 position;
  void main() {
    position = corner * extent;
    gl_Position = vec4(corner, 0.0, 1.0);
  }`

// The latitude uses atan, because asin loses precision near the poles. A pole has no longitude; any value shows the same
// pixel.
const fragmentShader = `
  #ifdef GL_FRAGMENT_PRECISION_HIGH
  precision highp float;
  #else
  precision mediump float;
  #endif
  uniform mat3 rotation;
  uniform sampler2D frame;
  varying vec2 position;
  const float pi = 3.141592653589793;
  void main() {
    vec3 direction = rotation * vec3(position, -1.0);
    float level = length(direction.xz);
    float longitude = level > 0.000001 ? atan(direction.x, -direction.z) : 0.0;
    float latitude = atan(direction.y, level);
    vec3 color = texture2D(frame, vec2(0.5 + longitude / (2.0 * pi), 0.5 - latitude / pi)).rgb;
    gl_FragColor = vec4(color, 1.0);
  }`

export type Renderer = {
  /** Uploads the current frame. Throws if the browser does not allow reading it. */
  upload(video: HTMLVideoElement): void
  draw(rotation: Rotation, extent: [x: number, y: number]): void
  /** Makes the canvas transparent until the next frame. */
  clear(): void
  destroy(): void
}

type Gl = WebGLRenderingContext | WebGL2RenderingContext
type Uniforms = { extent: WebGLUniformLocation | null; rotation: WebGLUniformLocation | null }

/** Returns undefined without WebGL. Calls `onRestored` when a lost context is back and needs a new frame. */
export function openRenderer(canvas: HTMLCanvasElement, onRestored: () => void): Renderer | undefined {
  const gl = openContext(canvas)
  if (!gl) return undefined
  let uniforms = setUp(gl)
  if (!uniforms) return undefined
  let hasFrame = false
  let scaled: HTMLCanvasElement | undefined

  const onContextLost = (event: Event) => {
    // Without this call, the browser does not restore the context.
    event.preventDefault()
    uniforms = undefined
    hasFrame = false
  }
  const onContextRestored = () => {
    uniforms = setUp(gl)
    if (uniforms) onRestored()
  }
  canvas.addEventListener('webglcontextlost', onContextLost)
  canvas.addEventListener('webglcontextrestored', onContextRestored)

  return {
    upload(video) {
      if (!uniforms || video.readyState < video.HAVE_CURRENT_DATA || video.videoWidth === 0) return
      const limit: number = gl.getParameter(gl.MAX_TEXTURE_SIZE)
      const isTooLarge = Math.max(video.videoWidth, video.videoHeight) > limit
      if (isTooLarge) scaled ??= document.createElement('canvas')
      const source = isTooLarge && scaled ? scaleDown(video, scaled, limit) : video
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, source)
      hasFrame = true
    },
    draw(rotation, extent) {
      if (!uniforms || !hasFrame) return
      gl.viewport(0, 0, canvas.width, canvas.height)
      gl.uniform2fv(uniforms.extent, extent)
      gl.uniformMatrix3fv(uniforms.rotation, false, rotation)
      gl.drawArrays(gl.TRIANGLES, 0, 3)
    },
    clear() {
      hasFrame = false
      gl.clear(gl.COLOR_BUFFER_BIT)
    },
    destroy() {
      canvas.removeEventListener('webglcontextlost', onContextLost)
      canvas.removeEventListener('webglcontextrestored', onContextRestored)
      // Browsers limit the number of contexts, and garbage collection may be late.
      gl.getExtension('WEBGL_lose_context')?.loseContext()
    },
  }
}

function openContext(canvas: HTMLCanvasElement): Gl | null {
  const options: WebGLContextAttributes = { alpha: true, antialias: false, depth: false, stencil: false }
  const webgl2 = canvas.getContext('webgl2', options) as WebGL2RenderingContext | null
  return webgl2 ?? (canvas.getContext('webgl', options) as WebGLRenderingContext | null)
}

function setUp(gl: Gl): Uniforms | undefined {
  const program = gl.createProgram()
  // Null if the context was lost again.
  if (!program) return undefined
  for (const [type, source] of [
    [gl.VERTEX_SHADER, vertexShader],
    [gl.FRAGMENT_SHADER, fragmentShader],
  ] as const) {
    const shader = gl.createShader(type)
    if (!shader) return undefined
    gl.shaderSource(shader, source)
    gl.compileShader(shader)
    gl.attachShader(program, shader)
  }
  gl.bindAttribLocation(program, 0, 'corner')
  gl.linkProgram(program)
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return undefined
  gl.useProgram(program)

  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer())
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW)
  gl.enableVertexAttribArray(0)
  gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0)

  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture())
  // No mipmaps: at the back the longitude jumps from one end to the other, and the GPU would sample a tiny mipmap there,
  // which shows as a line. WebGL 1 repeats only textures whose sides are powers of two; clamping loses half a pixel.
  const isWebGl2 = 'texStorage2D' in gl
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, isWebGl2 ? gl.REPEAT : gl.CLAMP_TO_EDGE)
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE)
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR)
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR)
  gl.clearColor(0, 0, 0, 0)
  return {
    extent: gl.getUniformLocation(program, 'extent'),
    rotation: gl.getUniformLocation(program, 'rotation'),
  }
}

function scaleDown(video: HTMLVideoElement, canvas: HTMLCanvasElement, limit: number): HTMLCanvasElement {
  const scale = limit / Math.max(video.videoWidth, video.videoHeight)
  const width = Math.max(1, Math.floor(video.videoWidth * scale))
  const height = Math.max(1, Math.floor(video.videoHeight * scale))
  // Setting the size clears the canvas, even if it is the same.
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height })
  canvas.getContext('2d')?.drawImage(video, 0, 0, width, height)
  return canvas
}
