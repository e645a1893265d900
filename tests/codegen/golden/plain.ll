define void @kernel(ptr %words, i64 %chunk, i64 %tid) nounwind "prefer-vector-width"="512" {
entry:
  %0 = getelementptr i64, ptr %words, i64 4
  %1 = load i64, ptr %0, align 8
  %2 = mul i64 %chunk, %1
  %3 = getelementptr i64, ptr %words, i64 3
  %4 = load i64, ptr %3, align 8
  %5 = sub i64 %4, %2
  %6 = icmp ult i64 %5, %1
  %7 = select i1 %6, i64 %5, i64 %1
  %8 = getelementptr i64, ptr %words, i64 6
  %9 = load ptr, ptr %8, align 8
  %10 = mul i64 %2, 4
  %11 = getelementptr i8, ptr %9, i64 %10
  %12 = getelementptr i64, ptr %words, i64 8
  %13 = load ptr, ptr %12, align 8
  %14 = mul i64 %2, 4
  %15 = getelementptr i8, ptr %13, i64 %14
  %16 = getelementptr i64, ptr %words, i64 10
  %17 = load ptr, ptr %16, align 8
  %18 = mul i64 %2, 4
  %19 = getelementptr i8, ptr %17, i64 %18
  %20 = getelementptr i64, ptr %words, i64 12
  %21 = load ptr, ptr %20, align 8
  %22 = mul i64 %2, 4
  %23 = getelementptr i8, ptr %21, i64 %22
  %24 = getelementptr i64, ptr %words, i64 14
  %25 = load ptr, ptr %24, align 8
  %26 = mul i64 %2, 1
  %27 = getelementptr i8, ptr %25, i64 %26
  br label %start
start:
  %28 = and i64 %7, -8
  %29 = icmp ult i64 0, %28
  br i1 %29, label %pre2, label %done3
pre2:
  br label %loop1
loop1:
  %i.loop1 = phi i64 [ 0, %pre2 ], [ %n.loop1, %loop1 ]
  %30 = getelementptr float, ptr %11, i64 %i.loop1
  %31 = load <8 x float>, ptr %30, align 4
  %32 = getelementptr float, ptr %15, i64 %i.loop1
  %33 = load <8 x float>, ptr %32, align 4
  %34 = call <8 x i1> @llvm.experimental.constrained.fcmp.v8f32(<8 x float> %31, <8 x float> %33, metadata !"ogt", metadata !"fpexcept.maytrap")
  %35 = getelementptr float, ptr %19, i64 %i.loop1
  %36 = load <8 x float>, ptr %35, align 4
  %37 = select <8 x i1> %34, <8 x float> %31, <8 x float> %36
  %38 = getelementptr float, ptr %23, i64 %i.loop1
  store <8 x float> %37, ptr %38, align 4
  %39 = zext <8 x i1> %34 to <8 x i8>
  %40 = getelementptr i8, ptr %27, i64 %i.loop1
  store <8 x i8> %39, ptr %40, align 1
  %n.loop1 = add i64 %i.loop1, 8
  %41 = icmp ult i64 %n.loop1, %28
  br i1 %41, label %loop1, label %done3
done3:
  %42 = icmp ult i64 %28, %7
  br i1 %42, label %pre5, label %done6
pre5:
  br label %loop4
loop4:
  %i.loop4 = phi i64 [ %28, %pre5 ], [ %n.loop4, %loop4 ]
  %43 = getelementptr float, ptr %11, i64 %i.loop4
  %44 = load float, ptr %43, align 4
  %45 = getelementptr float, ptr %15, i64 %i.loop4
  %46 = load float, ptr %45, align 4
  %47 = call i1 @llvm.experimental.constrained.fcmp.f32(float %44, float %46, metadata !"ogt", metadata !"fpexcept.maytrap")
  %48 = getelementptr float, ptr %19, i64 %i.loop4
  %49 = load float, ptr %48, align 4
  %50 = select i1 %47, float %44, float %49
  %51 = getelementptr float, ptr %23, i64 %i.loop4
  store float %50, ptr %51, align 4
  %52 = zext i1 %47 to i8
  %53 = getelementptr i8, ptr %27, i64 %i.loop4
  store i8 %52, ptr %53, align 1
  %n.loop4 = add i64 %i.loop4, 1
  %54 = icmp ult i64 %n.loop4, %7
  br i1 %54, label %loop4, label %done6
done6:
  br label %exit
exit:
  ret void
}
declare <8 x i1> @llvm.experimental.constrained.fcmp.v8f32(<8 x float>, <8 x float>, metadata, metadata)
declare i1 @llvm.experimental.constrained.fcmp.f32(float, float, metadata, metadata)
!0 = !{i32 1}
