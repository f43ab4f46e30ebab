// The twin of src/solver/patch/certificate.rs: what a patch adds to the certificate of its block.

struct Certificate {
    error: f32, // natural map, m/s
    magnitude: f32, // what it is a sum of, m/s
    finite: bool,
}

// `normal` and `tangential`: W_ii of the normals, and of t, o and torsion.
fn patch_certificate(
    shape: Shape,
    sums: PatchRows,
    impulse: PatchImpulse,
    slope: f32,
    normal: vec4<f32>,
    tangential: vec3<f32>,
) -> Certificate {
    let z = impulse.normal;
    let f = impulse.friction;
    let push = pressure(shape, z);
    // of vertices D |λ − max(0, λ − w/D)|
    let own = z * vec4(scale(normal.x), scale(normal.y), scale(normal.z), scale(normal.w));
    let vertices = abs(select(sums.normal, own, own < sums.normal));
    // of a disc the distance from its cone
    let weight = disc_scale(normal);
    let off = z.xyz - project_disc_cone(z.xyz - sums.normal.xyz / weight);
    let pressing = select(vertices, vec4(weight * patch_length(off), 0.0, 0.0, 0.0), vec4(shape.disc));
    let a = friction_scale(shape, tangential);
    let slides = natural_map(scaled(shape, f, push.centre), slip(shape, sums.friction, push.centre), slope * push.sum, a);
    // along an axis without friction √(a W_kk) |f_k|
    let rough = shape.ellipsoid > vec3(0.0);
    let roots = sqrt(a * vec3(scale(tangential.x), scale(tangential.y), scale(tangential.z)));
    let smooth_axes = select(roots * abs(at_ecp(f, push.centre)), vec3(0.0), rough);
    let error = larger(larger(patch_largest(pressing), slides), larger(larger(smooth_axes.x, smooth_axes.y), smooth_axes.z));
    let all = dot(pressing, vec4(1.0)) + slides + dot(smooth_axes, vec3(1.0))
        + dot(sums.normal_terms, vec4(1.0)) + dot(sums.friction_terms, vec3(1.0));
    return Certificate(error, magnitude(shape, sums, z, f, push.centre, a, tangential.z), is_finite(all));
}

// A vertex that is open by more than its own rounding has none.
fn magnitude(
    shape: Shape,
    sums: PatchRows,
    z: vec4<f32>,
    f: vec3<f32>,
    centre: vec2<f32>,
    a: f32,
    torsion: f32, // W_kk of it
) -> f32 {
    let beyond = 4.0 * EPSILON * sums.normal_terms < sums.normal;
    let open = !(z > vec4(0.0)) & beyond & vec4(!shape.disc);
    let e = shape.ellipsoid;
    let d = abs(centre);
    let size = sums.friction_terms;
    let velocity = patch_length(e * vec3(fma(d.y, size.z, size.x), fma(d.x, size.z, size.y), size.z));
    let parts = abs(f.z) + d.x * abs(f.y) + d.y * abs(f.x);
    let rough = e.z > 0.0;
    let moments = parts * select(sqrt(a * scale(torsion)), a / select(1.0, e.z, rough), rough);
    return larger(velocity + moments, patch_largest(select(sums.normal_terms, vec4(0.0), open)));
}

